// The records of persistent.cu: what a block needs to compute a work item.
//
// A record is a multiple of four words. After its header it has these parts:
//
//   sources  for each word of the staging buffer either the index of a message entry, with the
//            number of the message among the factors * 2^29, or the index of a weight. There are
//            32 sources for each chunk: first those of messages, then those of findings.
//   list     only if dense: for each entry of a row, and each pair, two addresses.
//   rows     for each row of all passes, the index of its result (~0: the row is not computed).
//            Then, only if dense, for each pair and each row two addresses. Then, only if
//            BY_CLASS, for each row the word of the stream at which its table entries begin.
//   stream   for each pass, step and thread the table entry as float bits, if there is a table. If
//            sparse, the table entries of a step are followed by two addresses for each pair and
//            thread. If BY_CLASS, the stream has instead for each class the table entries that its
//            rows share.
//
// An address is an offset in bytes in the staging buffer. It has 16 bits, so one word holds the
// addresses of both factors of a pair. In a dense work item, the address of the row is added to the
// address of the entry. Before its STAGING words, the staging buffer holds a one, for pairs with a
// single factor. After these words it holds a zero, for unused products of a sparse work item
// without a table.
//
// In a report, the sources are followed by one word per variable: first source, states * 2^16. The
// lanes share a variable.
//
// Example: the message over a variable B with 2 states from a clique over A and B with the factor
// P(B|A), after the message m over A has come in. It is a dense work item of 2 rows, for B = 0 and
// 1, each with 2 entries, for A = 0 and 1. The staging buffer is 1, m(0), m(1), 0, ...: its one
// chunk of messages has two sources. There is one pair, which has m as its only factor. The address
// of m is 4 in both rows, and the list adds 0 for m(0) and 4 for m(1); the second address is always
// 0, where the one is. The stream holds P(b|A=0) for both rows in the first step and P(b|A=1) in
// the second. With one lane, the thread of row b adds P(b|A=0) m(0) and P(b|A=1) m(1).
#pragma once

// Maximum length of a record in words. Shared.
static const unsigned MAX_RECORD = 2560;

// This index in a source means that the word is not loaded. It is also the mask that selects the
// index in a source. Shared.
static const unsigned NO_SOURCE = 0x1fffffff;

// Bits of the index in a source. The bits above are the number of the message. Shared.
static const unsigned SOURCE_BITS = 29;

// Bits of `form`: the kind of the work item, and flags. CONTINUED: the record continues the work
// item of the previous record. NO_TABLE: the operation has no table. BY_CLASS: rows of a class
// share table entries. P_EVIDENCE: the result is P(e), not a message or a posterior. Shared.
static const unsigned DENSE = 0;
static const unsigned SPARSE = 1;
static const unsigned REPORT = 2;
static const unsigned KIND = 3;
static const unsigned CONTINUED = 4;
static const unsigned NO_TABLE = 8;
static const unsigned BY_CLASS = 16;
static const unsigned P_EVIDENCE = 32;

// The header of a record. Shared.
struct RecordHeader {
    unsigned short words;             // length of this record
    unsigned short next_words;        // length of the next record in this list; 0 at its end
    unsigned short message_chunks;    // chunks of 32 words of messages in the staging buffer
    unsigned short finding_chunks;    // chunks of weights of findings, after those of messages
    unsigned short steps;             // a thread sums at most this many entries of a row
    unsigned short threads;           // threads that take part
    unsigned short passes;            // rounds of all threads over the rows
    unsigned char log_lanes;          // 2^log_lanes neighbouring threads, the lanes, share a row
    unsigned char form;               // kind and flags
    unsigned char message_pairs;      // pairs of messages that are factors
    unsigned char finding_pairs;      // pairs of findings; at most 4 pairs in all
    unsigned short messages;          // messages that are factors
    unsigned short list_words;        // length of the list; of a report, number of variables
    unsigned short row_entries;       // entries of the longest row
    int headroom;                     // exponent to which the largest entry of a message is scaled
    unsigned first_posterior;         // of a report: index of its first result in `posteriors`
    unsigned short common_states[8];  // states that all rows have in common; 0xffff: unused
};

// Length of a header, and the first word of the common states. Shared.
static const unsigned HEADER_WORDS = 12;
static const unsigned COMMON_STATES_WORD = 8;
static_assert(sizeof(RecordHeader) == 4 * HEADER_WORDS, "as in Rust");

// The header of a record in shared memory, without its common states. It is read in two pieces of
// 16 bytes, which is faster than field by field.
__device__ inline RecordHeader header_of(const uint4 *record)
{
    union {
        uint4 quads[3];
        RecordHeader header;
    } read;
    read.quads[0] = record[0];
    read.quads[1] = record[1];
    return read.header;
}
