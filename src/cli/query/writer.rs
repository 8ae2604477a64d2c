//! Where the answers go: standard output, or a file.

use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::Path;

use cliquescope::engine::QueryError;
use cliquescope::propagation::Posteriors;
use cliquescope::store::NewFile;

use super::answers::{Failure, Formatter};
use super::blocks::Block;

/// The text of answers is written once it has this many bytes. Larger pieces take more memory, and
/// save no time: in a write of this size, the overhead of calling the operating system is small.
const PIECE: usize = 1 << 18;

/// A block with the answer to each case that could be read.
pub struct AnsweredBlock {
    pub block: Block,
    pub answers: Vec<Result<Posteriors, QueryError>>,
}

/// Writes answers. A regular file gets its name when it is finished, and never has an incomplete
/// answer.
pub struct AnswerWriter {
    formatter: Formatter,
    output: Output,
    text: String,
    /// Number of cases that were written.
    pub cases: usize,
    /// Number of bytes that were written.
    bytes: u64,
    /// Whether the header was prepared or written.
    has_begun: bool,
    /// Why no more can be written; empty if the reader of standard output has gone.
    failure: Option<String>,
}

enum Output {
    Standard,
    File(Box<NewFile>, String),
}

impl AnswerWriter {
    /// A writer to the file at `path`, or to standard output. Writes nothing yet.
    ///
    /// # Errors
    /// A message for the user if the file cannot be created.
    pub fn new(formatter: Formatter, path: Option<&Path>) -> Result<Self, String> {
        let output = match path {
            None => Output::Standard,
            Some(path) => {
                let name = path.display().to_string();
                let file = NewFile::create(path).map_err(|error| format!("{name}: {error}"))?;
                Output::File(Box::new(file), name)
            }
        };
        let (text, failure) = (String::new(), None);
        Ok(Self { formatter, output, text, cases: 0, bytes: 0, has_begun: false, failure })
    }

    /// Writes the answers of a block. Breaks if no more can be written.
    pub fn write(&mut self, AnsweredBlock { block, answers }: AnsweredBlock) -> ControlFlow<()> {
        self.begin();
        let mut answered = block.evidence.iter().zip(&answers);
        // Number of cases whose text was not written yet.
        let mut waiting = 0;
        for row in &block.rows {
            let (evidence, answer) = match &row.error {
                Some(error) => (None, Err(Failure::Unreadable(error))),
                None => {
                    let (evidence, answer) = answered.next().expect("an answer for each row");
                    (Some(evidence), answer.as_ref().map_err(Failure::Unanswered))
                }
            };
            self.formatter.append(&mut self.text, row, evidence, answer);
            waiting += 1;
            if self.text.len() >= PIECE {
                self.flush(std::mem::take(&mut waiting))?;
            }
        }
        self.flush(waiting)
    }

    /// Writes what comes after the answers, and gives the file its name. If no answer was written,
    /// and the work is not complete or writing failed, an existing file of that name is unchanged.
    ///
    /// # Errors
    /// A message for the user if not all could be written, unless the reader of standard output has
    /// gone. The file then has the answers to the first [`cases`](Self::cases), if there are any.
    pub fn finish(&mut self, is_complete: bool) -> Result<(), String> {
        self.begin();
        self.text.push_str(self.formatter.footer());
        let _ = self.flush(0);
        let has_content = self.cases > 0 || (is_complete && self.failure.is_none());
        if let Output::File(file, name) = std::mem::replace(&mut self.output, Output::Standard)
            && has_content
            && let Err(error) = file.finish()
        {
            self.cases = 0;
            return Err(format!("{name}: {error}"));
        }
        self.failure.take().filter(|failure| !failure.is_empty()).map_or(Ok(()), Err)
    }

    /// Prepares the header, once.
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.text = self.formatter.begin();
        }
    }

    /// Writes the text that was prepared, with the answers to this number of `cases`.
    fn flush(&mut self, cases: usize) -> ControlFlow<()> {
        let text = std::mem::take(&mut self.text);
        let bytes = text.as_bytes();
        let outcome = match &mut self.output {
            Output::Standard => {
                let mut out = std::io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| {
                    match error.kind() {
                        ErrorKind::BrokenPipe => String::new(),
                        _ => format!("standard output: {error}"),
                    }
                })
            }
            Output::File(file, name) => file.write_all(bytes).map_err(|error| {
                // The last answer that was written may not be complete.
                let _ = file.truncate(self.bytes);
                format!("{name}: {error}")
            }),
        };
        match outcome {
            Ok(()) => {
                self.cases += cases;
                self.bytes += bytes.len() as u64;
                self.text = text;
                self.text.clear();
                ControlFlow::Continue(())
            }
            Err(failure) => {
                self.failure.get_or_insert(failure);
                ControlFlow::Break(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cliquescope::format;

    use super::super::answers::Context;
    use super::super::output_format::OutputFormat;
    use super::*;

    #[test]
    fn a_file_is_replaced_only_by_answers_or_when_the_work_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.json");
        for (is_complete, expected) in [(false, "earlier answers"), (true, "{")] {
            std::fs::write(&path, "earlier answers").unwrap();
            let context = Context {
                network: format::sample("asia").unwrap().open().network,
                title: "Asia".to_owned(),
                engine: "cpu",
                precision: "f64".to_owned(),
                has_several: false,
                has_names: false,
            };
            let formatter = Formatter::new(OutputFormat::Json, context);
            let mut writer = AnswerWriter::new(formatter, Some(&path)).unwrap();
            writer.finish(is_complete).unwrap();
            assert!(std::fs::read_to_string(&path).unwrap().starts_with(expected));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
