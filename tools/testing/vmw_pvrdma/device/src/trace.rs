// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The trace: one JSON object a line for everything that crosses the device's interface.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use serde::Serialize;

use crate::abi::commands::{Command, Response};
use crate::abi::cqe::Cqe;
use crate::abi::wqe::{SendBody, Sge};
use crate::faults::Effect;

/// What happened.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// A register was read or written.
    Reg {
        /// `read` or `write`
        op: &'static str,
        /// The register.
        name: &'static str,
        /// What was read or written.
        value: u32,
    },
    /// The driver posted a command.
    Command {
        /// Its name.
        name: &'static str,
        /// Its contents.
        fields: &'a Command,
    },
    /// A command was answered or refused.
    Answer {
        /// The command's name.
        name: &'static str,
        /// The error byte of the answer.
        err: u8,
        /// The error register; if it is not zero there is no answer in memory.
        reg_err: u32,
        /// Contents of the answer.
        fields: &'a Response,
    },
    /// A doorbell rang.
    Doorbell {
        /// The page.
        uar: u32,
        /// `qp`, `cq` or `srq`
        kind: &'static str,
        /// Which one.
        handle: u32,
        /// What for.
        flags: Vec<&'static str>,
    },
    /// An interrupt was raised.
    Irq {
        /// Its vector.
        vector: usize,
    },
    /// A send request was taken up.
    Wqe {
        /// Handle of the queue pair.
        qp: u32,
        /// Number given by the guest.
        wr_id: u64,
        /// The operation.
        opcode: u32,
        /// Flags.
        send_flags: u32,
        /// Immediate data or key to invalidate.
        ex: u32,
        /// What the operation needs.
        body: SendBody,
        /// The gather list.
        sges: &'a [Sge],
    },
    /// A completion was written.
    Cqe {
        /// Handle of the completion queue.
        cq: u32,
        /// The completion.
        fields: &'a Cqe,
    },
    /// A command or control goes wrong on purpose.
    Fault {
        /// Its name.
        name: &'static str,
        /// The number of the rule.
        rule: usize,
        /// How it goes wrong.
        effect: &'a Effect,
    },
    /// An asynchronous event was written.
    Async {
        /// Its type.
        kind: u32,
        /// Handle of the object or number of the port.
        info: u32,
    },
}

struct Sink {
    start: Instant,
    file: Mutex<File>,
}

/// One line: when, on which adapter, what.
#[derive(Serialize)]
struct Line<'a> {
    us: u64,
    adapter: u32,
    #[serde(flatten)]
    event: Event<'a>,
}

/// Handle of the trace file, or of nothing.
#[derive(Clone, Default)]
pub struct Trace {
    sink: Option<Arc<Sink>>,
    adapter: u32,
}

impl Trace {
    /// Begins a trace in a new file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let sink = Sink { start: Instant::now(), file: Mutex::new(File::create(path)?) };
        Ok(Self { sink: Some(Arc::new(sink)), adapter: 0 })
    }

    /// The same trace for the events of another adapter.
    pub fn for_adapter(&self, adapter: u32) -> Self {
        Self { sink: self.sink.clone(), adapter }
    }

    /// Adds a line. The event is not even built if there is no trace.
    pub fn emit<'a>(&self, event: impl FnOnce() -> Event<'a>) {
        if let Some(sink) = &self.sink {
            sink.emit(self.adapter, event());
        }
    }
}

impl Sink {
    fn emit(&self, adapter: u32, event: Event<'_>) {
        let mut file = self.file.lock();
        let us = self.start.elapsed().as_micros() as u64;
        let line = serde_json::to_string(&Line { us, adapter, event })
            .map_err(io::Error::from)
            .and_then(|line| file.write_all(format!("{line}\n").as_bytes()));
        if let Err(error) = line {
            log::error!("trace: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::commands::DestroyPd;

    fn lines(events: impl FnOnce(&Trace)) -> Vec<String> {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        events(&Trace::create(&path).unwrap().for_adapter(3));
        let text = std::fs::read_to_string(&path).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn keys_are_in_the_agreed_order() {
        let lines = lines(|trace| {
            trace.emit(|| Event::Reg { op: "write", name: "REQUEST", value: 0 });
            let command = Command::DestroyPd(DestroyPd { pd_handle: 5, ..Default::default() });
            trace.emit(|| Event::Command { name: command.name(), fields: &command });
            let (name, fields) = (command.name(), &Response::Empty {});
            trace.emit(|| Event::Answer { name, err: 0, reg_err: 22, fields });
            let flags = vec!["send", "recv"];
            trace.emit(|| Event::Doorbell { uar: 1, kind: "qp", handle: 2, flags });
            trace.emit(|| Event::Irq { vector: 2 });
        });
        let expected = [
            r#""event":"reg","op":"write","name":"REQUEST","value":0}"#,
            r#""event":"command","name":"DESTROY_PD","fields":{"pd_handle":5}}"#,
            r#""event":"answer","name":"DESTROY_PD","err":0,"reg_err":22,"fields":{}}"#,
            r#""event":"doorbell","uar":1,"kind":"qp","handle":2,"flags":["send","recv"]}"#,
            r#""event":"irq","vector":2}"#,
        ];
        assert_eq!(lines.len(), expected.len());
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.starts_with("{\"us\":"), "{line}");
            let (_, rest) = line.split_once(",\"adapter\":3,").unwrap();
            assert_eq!(rest, expected);
        }
    }

    #[test]
    fn no_trace_builds_no_event() {
        Trace::default().emit(|| panic!("built an event for nothing"));
    }
}
