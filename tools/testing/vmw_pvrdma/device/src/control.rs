// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The control channel: a UNIX socket over which a test rules the adapters.
//!
//! Requests and answers are JSON objects, one a line. A request names in `do` what to do and in
//! `adapter` to which one (default 0). The answer has either `ok`, with what was asked for, or
//! `error`, with a reason.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};

use crate::abi::cqe::Cqe;
use crate::counters::Counters;
use crate::fabric::Fabric;
use crate::faults::{Rule, Setup};
use crate::interrupts::Vector;
use crate::intrusion::RingName;
use crate::link::Link;
use crate::patch::{patched, Patch};

/// What can be asked for.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Give the port a carrier, or take it away.
    Link { state: Link },
    /// Write asynchronous events, whether something happened or not.
    Event {
        kind: u32,
        info: u32,
        #[serde(default = "one")]
        times: u32,
    },
    /// Write notifications of a completion queue, whether there is one or not.
    Notify {
        cq: u32,
        #[serde(default = "one")]
        times: u32,
    },
    /// Write a completion.
    Complete { cq: u32, cqe: Patch },
    /// Raise an interrupt.
    Interrupt { vector: Vector },
    /// Overwrite indices of a ring. The answer is what they were.
    Ring { ring: RingName, tail: Option<u32>, head: Option<u32> },
    /// Move the tail of a ring without a pause for a while.
    Storm { ring: RingName, ms: u32 },
    /// Change capabilities, in the shared region too if there is one.
    Caps { caps: Patch },
    /// Let registers read as these values, and no others as before.
    Registers { registers: BTreeMap<String, u32> },
    /// Put rules in force in place of those before.
    Rules { rules: Vec<Rule> },
    /// The numbers of the rules that have not gone off as often as they should.
    UnusedRules {},
    /// Answer nothing and move no data for a while.
    Stall { ms: u32 },
    /// How many objects the driver has.
    Objects {},
    /// What was counted, and whether to begin anew.
    Counters {
        #[serde(default)]
        reset: bool,
    },
}

fn one() -> u32 {
    1
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Serves the control channel in a thread of its own, one for each connection.
pub fn start(path: &Path, fabric: Arc<Fabric>) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    thread::Builder::new().name("control".into()).spawn(move || {
        for stream in listener.incoming() {
            let fabric = Arc::clone(&fabric);
            let served = stream.and_then(|stream| {
                let name = "control-connection";
                thread::Builder::new().name(name.into()).spawn(move || serve(&stream, &fabric))
            });
            if let Err(error) = served {
                log::warn!("control channel: {error}");
            }
        }
    })?;
    Ok(())
}

fn serve(mut stream: &UnixStream, fabric: &Fabric) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let answer = match handle(&line, fabric) {
            Ok(value) => json!({ "ok": value }),
            Err(error) => json!({ "error": error.to_string() }),
        };
        if writeln!(stream, "{answer}").is_err() {
            return;
        }
    }
}

/// Carries out one request.
fn handle(line: &str, fabric: &Fabric) -> Result<Value, Failure> {
    let mut request: Map<String, Value> = serde_json::from_str(line)?;
    let adapter = match request.remove("adapter") {
        Some(number) => serde_json::from_value(number)?,
        None => 0,
    };
    if adapter >= fabric.count() {
        return Err(format!("there is no adapter {adapter}").into());
    }
    execute(serde_json::from_value(Value::Object(request))?, adapter, fabric)
}

fn execute(request: Request, id: u32, fabric: &Fabric) -> Result<Value, Failure> {
    fabric.with(id, |adapter, _| {
        match request {
            Request::Link { state } => adapter.set_link(state),
            Request::Event { kind, info, times } => {
                (0..times).for_each(|_| adapter.raw_event(kind, info));
            }
            Request::Notify { cq, times } => (0..times).for_each(|_| adapter.notify_cq(cq)),
            Request::Complete { cq, cqe } => {
                adapter.raw_completion(cq, &patched(&Cqe::default(), &cqe)?)?;
            }
            Request::Interrupt { vector } => adapter.interrupts.raise(vector),
            Request::Ring { ring, tail, head } => {
                return value(adapter.set_indices(ring, tail, head)?)
            }
            Request::Storm { ring, ms } => {
                adapter.start_storm(ring, Duration::from_millis(ms.into()));
            }
            Request::Caps { caps } => {
                Setup { caps: caps.clone(), ..Setup::default() }.check(adapter.config())?;
                adapter.faults.set_caps(caps);
                if adapter.shared().is_ok() {
                    adapter.write_caps().ok_or("the shared region is gone")?;
                }
            }
            Request::Registers { registers } => {
                let setup = Setup { registers, ..Setup::default() };
                setup.check(adapter.config())?;
                adapter.faults.set_registers(setup.registers);
            }
            Request::Rules { rules } => {
                let setup = Setup { rules, ..Setup::default() };
                setup.check(adapter.config())?;
                adapter.faults.set_rules(setup.rules);
            }
            Request::UnusedRules {} => return value(adapter.faults.unused()),
            Request::Stall { ms } => adapter.stall(Duration::from_millis(ms.into())),
            Request::Objects {} => return value(adapter.objects.counts()),
            Request::Counters { reset } => {
                let counters = adapter.counters;
                if reset {
                    adapter.counters = Counters::default();
                }
                return value(counters);
            }
        }
        Ok(Value::Null)
    })
}

fn value(result: impl Serialize) -> Result<Value, Failure> {
    Ok(serde_json::to_value(result)?)
}
