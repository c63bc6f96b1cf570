// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Command line of the emulated adapter.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{mpsc, Arc};
use std::thread;

use anyhow::{anyhow, bail, Context};
use clap::{Parser, ValueEnum};
use pvrdma_device::control;
use pvrdma_device::fabric::Fabric;
use pvrdma_device::faults::Setup;
use pvrdma_device::limits::{Config, Roce, MAX_VERSION, MIN_VERSION};
use pvrdma_device::trace::Trace;
use pvrdma_device::vfio::{self, Backend};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Emulated VMware paravirtual RDMA adapter for QEMU's vfio-user-pci.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Socket of an adapter. Give it once for each adapter; all share one fabric.
    #[arg(long = "socket", value_name = "PATH", required = true)]
    sockets: Vec<PathBuf>,

    /// Version of the device interface.
    #[arg(
        long,
        value_name = "VERSION",
        default_value_t = MAX_VERSION,
        value_parser = clap::value_parser!(u32).range(i64::from(MIN_VERSION)..=i64::from(MAX_VERSION))
    )]
    hw_version: u32,

    /// Type of the addresses [default: v2, or v1 for version 17, which has no other].
    #[arg(long, value_enum)]
    roce: Option<RoceArg>,

    /// Number of MSI-X vectors; with 0 the adapter has an interrupt line instead.
    #[arg(long, value_name = "NUMBER", default_value_t = 3,
          value_parser = clap::value_parser!(u16).range(0..=3))]
    vectors: u16,

    /// Write everything that crosses the device's interface to FILE, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Take requests to change links, raise events, inject faults, count objects from this socket.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,

    /// Behave as wrongly as FILE says: changed capabilities and registers, failing commands.
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoceArg {
    V1,
    V2,
}

impl From<RoceArg> for Roce {
    fn from(arg: RoceArg) -> Self {
        match arg {
            RoceArg::V1 => Self::V1,
            RoceArg::V2 => Self::V2,
        }
    }
}

fn main() {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    if let Err(error) = run(&Args::parse()) {
        eprintln!("pvrdma-device: {error:#}");
        process::exit(2);
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    let config =
        Config::new(args.hw_version, args.roce.map(Roce::from))?.with_vectors(args.vectors);
    let trace = match &args.trace {
        Some(path) => Trace::create(path).with_context(|| format!("trace {}", path.display()))?,
        None => Trace::default(),
    };
    let faults = match &args.faults {
        Some(path) => {
            read_faults(path, &config).with_context(|| format!("faults {}", path.display()))?
        }
        None => Setup::default(),
    };
    let count = u32::try_from(args.sockets.len())?;
    let fabric = Fabric::start(count, config, &trace).context("cannot start the engine")?;

    let mut signals = Signals::new([SIGTERM, SIGINT]).context("cannot handle signals")?;
    let mut listening = Vec::new();
    for adapter in 0..count {
        fabric.with(adapter, |adapter, _| adapter.faults_mut().set(faults.clone()));
    }
    if let Some(path) = &args.control {
        remove_stale(path)?;
        control::start(path, Arc::clone(&fabric))
            .with_context(|| format!("socket {}", path.display()))?;
        listening.push(path.clone());
    }
    let (failed, failure) = mpsc::channel();
    for (adapter, path) in (0..).zip(&args.sockets) {
        remove_stale(path)?;
        let server = vfio::server(path, args.vectors)
            .map_err(|error| anyhow!("socket {}: {error}", path.display()))?;
        listening.push(path.clone());
        let mut backend = Backend::new(Arc::clone(&fabric), adapter, &trace);
        let failed = failed.clone();
        thread::Builder::new()
            .name(format!("adapter-{adapter}"))
            .spawn(move || failed.send(backend.serve(&server)))
            .context("cannot start a thread")?;
    }

    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            if signals.forever().next().is_some() {
                // The sockets' owners are waiting in them; nothing else is left to do.
                for path in &listening {
                    if let Err(error) = fs::remove_file(path) {
                        log::warn!("{}: {error}", path.display());
                    }
                }
                process::exit(0);
            }
        })
        .context("cannot start a thread")?;

    let mut stdout = io::stdout();
    writeln!(stdout, "ready").and_then(|()| stdout.flush()).context("cannot say ready")?;
    Err(failure.recv()?).context("an adapter cannot go on")
}

/// Reads a setup of faults that is possible.
fn read_faults(path: &Path, config: &Config) -> anyhow::Result<Setup> {
    let setup: Setup = serde_json::from_str(&fs::read_to_string(path)?)?;
    setup.check(config)?;
    Ok(setup)
}

/// Removes a socket that nobody serves any more.
fn remove_stale(path: &Path) -> anyhow::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !metadata.file_type().is_socket() {
        bail!("{} exists and is not a socket", path.display());
    }
    if UnixStream::connect(path).is_ok() {
        bail!("{} is in use", path.display());
    }
    fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
}
