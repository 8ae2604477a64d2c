// The records of persistent.cu: what a block needs to compute a work item.
//
// A record is a multiple of four words long. Its parts follow each other in this order:
//
//   header   RecordHeader, below.
//   sources  what to load into each word of the staging buffer. The sources are in chunks of 32:
//            first the chunks that load entries of messages, then the chunks that load weights of
//            findings. The low SOURCE_BITS bits of a source are an index: of an entry in the array
//            of all messages, or of a weight in the evidence. The bits above are the number of the
//            message among the factors, the same in all 32 sources of a chunk; they are zero for
//            findings, and in a report. A source of an entry that is never computed, or of padding,
//            has the index NO_SOURCE; its word becomes zero.
//   list     only if dense: for each entry of a row, and each pair of factors, two addresses. The
//            words of an entry are consecutive.
//   rows     for each row of all passes, the index of its result in the array of all messages (~0:
//            the row is not computed). Then, only if dense, for each pair and each row two
//            addresses. Then, only if BY_CLASS, for each row the word of the stream at which its
//            table entries begin.
//   stream   what each thread reads in each step of each pass: the table entry as float bits, if
//            there is a table; then, only if sparse, two addresses for each pair. The words that
//            all threads read at the same time are consecutive. In step s, lane l reads what
//            belongs to entry s * lanes + l of its row. If BY_CLASS, the stream has instead for
//            each class the table entries that its rows share. List and stream are padded to
//            steps * lanes entries.
//
// The factors of a product are multiplied two at a time: first pairs of messages, then pairs of
// findings. An address is an offset in bytes from the word before the staging buffer. It has 16
// bits, so one word holds the addresses of both factors of a pair, the first in the low half. In a
// dense work item, the word of the row and the word of the entry are added, which adds both
// addresses at once. The staging buffer has STAGING words (persistent.cu). The word before them is
// a one, for pairs with a single factor. The word after them is a zero, for unused products of a
// sparse work item without a table.
//
// In a report, the sources are followed by one word per variable, as its list: the first source in
// the low half, the number of states in the high half. The lanes share a variable.
//
// Example: the message over a variable B with 2 states from a clique over A and B with the factor
// P(B|A), after the message m over A has come in. It is a dense work item of 2 rows, for B = 0 and
// 1, each with 2 entries, for A = 0 and 1. One pass of 32 threads computes both rows in one step,
// with two lanes per row. The pass has room for 16 rows; the last 14 do not exist.
//
//   header   words 112, message_chunks 1, steps 1, threads 32, passes 1, log_lanes 1, form DENSE,
//            message_pairs 1, messages 1, list_words 4, row_entries 2, headroom 89, and the length
//            of the next record; no common states; the rest is zero
//   sources  the indices of m(0) and m(1), then 30 words of padding. The staging buffer becomes
//            1, m(0), m(1), 0, ..., 0, so m begins at address 4.
//   list     for A = 0 the addresses 0 and 0, for A = 1 the addresses 4 and 0; two words of padding
//   rows     the indices of the results for B = 0 and 1, then 14 times ~0; the addresses 4 and 0
//            for both rows, then 14 words that are not read
//   stream   P(B=0|A=0), P(B=0|A=1), P(B=1|A=0), P(B=1|A=1), then 28 words that
//            are not read
//
// Thread 2 b + a multiplies P(B=b|A=a) by m(a), which is at address 4 + 4 a, and by the one at
// address 0 + 0, because m is the only factor of its pair. Then the lanes of row b add up.
#pragma once

// A test compares the constants and structs whose comments say "Shared" with
// src/engine/cuda/persistent.

// Maximum length of a record in words. Shared.
static const unsigned MAX_RECORD = 2560;

// This index in a source means that the word is not loaded. It is also the mask that selects the
// index in a source. Shared.
static const unsigned NO_SOURCE = 0x1fffffff;

// Bits of the index in a source. The bits above are the number of the message. Shared.
static const unsigned SOURCE_BITS = 29;

// Bits of `form`: the kind of the work item, and flags. CONTINUED: the record continues the work
// item of the previous record, whose staging buffer it reads; it has no sources of its own.
// NO_TABLE: the operation has no table. BY_CLASS: rows with equal table entries are in a class, and
// share one copy of them. P_EVIDENCE: the result is P(e), not a message or a posterior. KIND is the
// mask of the kind. Shared.
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
    unsigned short next_words;        // length of the block's next record; 0 if there is none
    unsigned short message_chunks;    // chunks of 32 words of messages in the staging buffer
    unsigned short finding_chunks;    // chunks of weights of findings, after those of messages
    unsigned short steps;             // a thread sums at most this many entries of a row
    unsigned short threads;           // threads that take part
    unsigned short passes;            // in each pass all threads compute threads >> log_lanes rows
    unsigned char log_lanes;          // 2^log_lanes neighbouring threads, the lanes, share a row
    unsigned char form;               // kind and flags
    unsigned char message_pairs;      // pairs of messages that are factors
    unsigned char finding_pairs;      // pairs of findings; at most 4 pairs in all
    unsigned short messages;          // messages that are factors
    unsigned short list_words;        // length of the list; in a report, the number of variables
    unsigned short row_entries;       // entries of the longest row
    int headroom;                     // exponent to which the largest entry of a message is scaled
    unsigned first_posterior;         // in a report: index of its first result in `posteriors`
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
