// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The command channel.
//!
//! A command is written to the command slot and started with the request register. The device
//! says in the error register whether it accepted the command; the answer of a command that has
//! one appears in the response slot, followed by an interrupt.
//!
//! - One command at a time. Controls, which answer in the same error register, take the same lock.
//! - The command slot is written whole, with zeros behind a short command.
//! - An interrupt is only a hint to look at the response slot. An answer counts if it carries the
//!   key and the acknowledgment of the command that is waiting; the slot is cleared before.
//!   Interrupts that belong to commands without an answer therefore do no harm, and an adapter
//!   that answers before the error register was read needs no interrupt at all.
//! - Once the request register was written, neither a signal nor anything else but an answer, the
//!   time-out or the loss of the adapter ends the wait.
//! - After a time-out nobody knows what the device did or will do: the channel is dead until the
//!   device is reset, which is when the driver is unbound. The caller learns that the outcome is
//!   unknown and must not take back memory that the command gave to the device.
//!
//! The key that the device repeats is zero in every command. No other key was ever tried on the
//! adapters in the field, and as there is never a second command in flight, the acknowledgment is
//! enough to tell answers apart.

#![forbid(unsafe_code)]

use crate::{
    caps::Version,
    counters::Counters,
    page_dir::Page,
    regs::{
        self,
        Control,
        Regs, //
    },
    wire::command::{
        Opcode,
        Request,
        RequestHeader,
        Response,
        ResponseHeader,
        REQUEST_LEN, //
    },
};
use kernel::{
    device::{
        Bound,
        Device, //
    },
    dma::DmaAddress,
    io::{
        io_read,
        Io, //
    },
    new_condvar, new_mutex, new_spinlock_irq,
    prelude::*,
    sync::{
        barrier::{
            dma_mb,
            Read,
            Write, //
        },
        Arc,
        CondVar,
        CondVarTimeoutResult,
        Mutex,
        SpinLockIrq, //
    },
    time::{
        delay::fsleep,
        msecs_to_jiffies,
        Delta,
        Instant,
        Monotonic, //
    },
};

/// How long the device may take to answer.
const TIMEOUT: Delta = Delta::from_secs(10);

/// How long to sleep between two looks at the response slot if no interrupt arrives.
const SLICE_MS: u32 = 500;

/// How long to sleep between two looks while a signal is pending, which ends any other sleep.
const SIGNAL_SLICE: Delta = Delta::from_millis(1);

/// A command.
pub(crate) trait Command {
    /// Its number.
    const OPCODE: Opcode;

    /// Its form in the command slot.
    type Wire: FromBytes + IntoBytes;

    /// Puts the command into its form, with `hdr` in front.
    fn wire(&self, hdr: RequestHeader) -> Self::Wire;
}

/// A command that the device answers.
pub(crate) trait Ask: Command {
    /// What the answer says.
    type Reply;

    /// Reads the answer of a device of this version.
    fn reply(response: &Response, version: Version) -> Result<Self::Reply>;
}

/// A command that the device carries out without an answer.
///
/// When the error register was read, the device is done with it.
pub(crate) trait Tell: Command {}

/// Why a command failed.
///
/// There is no conversion to [`Error`] that happens by itself: whoever gave memory to the device
/// has to look at the difference first, as [`Lent`](crate::lent::Lent) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CmdError {
    /// The device did not carry out the command and will not touch what it was given:
    ///
    /// - [`EFAULT`]: refused through the error register,
    /// - [`EINVAL`]: refused through the error byte of the answer,
    /// - [`EIO`]: not started, the channel is dead,
    /// - [`ENODEV`]: the adapter is gone.
    Refused(Error),

    /// No answer: the device may or may not have carried out the command, or still do it.
    Unknown,
}

impl CmdError {
    /// Returns the error code.
    pub(crate) fn code(self) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Unknown => ETIMEDOUT,
        }
    }
}

/// Whether commands can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Yes.
    Ready,
    /// No, an answer is owed.
    Dead,
    /// No, the adapter left its slot.
    Gone,
}

impl State {
    /// Returns why no command can be sent, if so.
    fn check(self) -> Result<(), CmdError> {
        match self {
            Self::Ready => Ok(()),
            Self::Dead => Err(CmdError::Refused(EIO)),
            Self::Gone => Err(CmdError::Refused(ENODEV)),
        }
    }
}

/// Returns whether a response with this header is the answer to the command `opcode`.
fn answers(header: &ResponseHeader, opcode: Opcode) -> bool {
    header.response == KEY && header.ack == opcode.ack()
}

/// Key of every command.
const KEY: u64 = 0;

/// The pages that commands and responses are exchanged in, and who may use them.
struct Slots {
    request: Page,
    response: Page,
    state: State,
}

impl Slots {
    /// Writes `request` and clears the header of the response.
    fn fill(&self, request: Request) -> Result {
        (&self.request).try_cast::<Request>()?.copy_write(request);
        (&self.response)
            .try_cast::<ResponseHeader>()?
            .copy_write(ResponseHeader {
                response: !KEY,
                ack: 0,
                err: 0,
                reserved: [0; 3],
            });
        // Order the slots before the register write that makes the device look at them.
        dma_mb(Write);
        Ok(())
    }

    /// Returns a copy of the response if it answers the command `opcode`.
    fn look(&self, opcode: Opcode) -> Result<Option<Response>> {
        let slot = (&self.response).try_cast::<Response>()?;

        if io_read!(slot, .header.ack) != opcode.ack() {
            return Ok(None);
        }
        // Order the acknowledgment, which the device writes last, before the rest.
        dma_mb(Read);

        let response = slot.copy_read();
        Ok(answers(&response.header, opcode).then_some(response))
    }
}

/// The command channel of one adapter.
#[pin_data]
pub(crate) struct Channel {
    version: Version,
    #[pin]
    slots: Mutex<Slots>,
    /// Whether an interrupt has arrived that nobody has looked after yet.
    #[pin]
    hint: SpinLockIrq<bool>,
    #[pin]
    hinted: CondVar,
    counters: Arc<Counters>,
}

impl Channel {
    /// Prepares a channel to a device of this version.
    pub(crate) fn new(
        dev: &Device<Bound>,
        version: Version,
        counters: Arc<Counters>,
    ) -> impl PinInit<Self, Error> + '_ {
        try_pin_init!(Self {
            version,
            slots <- new_mutex!(Slots {
                request: Page::zeroed(dev, GFP_KERNEL)?,
                response: Page::zeroed(dev, GFP_KERNEL)?,
                state: State::Ready,
            }),
            hint <- new_spinlock_irq!(false),
            hinted <- new_condvar!(),
            counters,
        })
    }

    /// Returns the bus addresses of the command and of the response slot.
    pub(crate) fn addresses(&self) -> (DmaAddress, DmaAddress) {
        let slots = self.slots.lock();

        (slots.request.dma_address(), slots.response.dma_address())
    }

    /// Sends a command and waits for its answer. Sleeps.
    pub(crate) fn ask<C: Ask>(
        &self,
        dev: &Device,
        regs: &Regs<'_>,
        command: &C,
    ) -> Result<C::Reply, CmdError> {
        let request = encode(command).map_err(CmdError::Refused)?;
        let mut slots = self.slots.lock();

        self.start(dev, regs, &mut slots, C::OPCODE, request)?;
        let response = self.wait(dev, regs, &mut slots, C::OPCODE)?;

        // An answer that cannot be read leaves it open what the device did.
        C::reply(&response, self.version).map_err(|_| CmdError::Unknown)
    }

    /// Sends a command that has no answer. Sleeps.
    pub(crate) fn tell<C: Tell>(
        &self,
        dev: &Device,
        regs: &Regs<'_>,
        command: &C,
    ) -> Result<(), CmdError> {
        let request = encode(command).map_err(CmdError::Refused)?;
        let mut slots = self.slots.lock();

        self.start(dev, regs, &mut slots, C::OPCODE, request)
    }

    /// Writes `control` and returns whether the device accepted it. Sleeps.
    ///
    /// # Errors
    ///
    /// - [`EFAULT`] if the device refused it,
    /// - [`EIO`] if the channel is dead,
    /// - [`ENODEV`] if the adapter is gone.
    pub(crate) fn control(&self, dev: &Device, regs: &Regs<'_>, control: Control) -> Result {
        let mut slots = self.slots.lock();

        slots.state.check().map_err(CmdError::code)?;
        regs.control(control);
        slots.accepted(regs).map_err(|rejection| match rejection {
            Rejection::Refused(_) => EFAULT,
            Rejection::Gone => slots.note_loss(dev).code(),
        })
    }

    /// Notes that the device may have answered. For interrupt handlers.
    pub(crate) fn interrupt(&self) {
        *self.hint.lock() = true;
        self.hinted.notify_all();
    }

    /// Starts the command `opcode`.
    fn start(
        &self,
        dev: &Device,
        regs: &Regs<'_>,
        slots: &mut Slots,
        opcode: Opcode,
        request: Request,
    ) -> Result<(), CmdError> {
        slots.state.check()?;
        slots.fill(request).map_err(CmdError::Refused)?;
        *self.hint.lock() = false;

        self.counters.commands.inc();
        regs.request();
        slots.accepted(regs).map_err(|rejection| match rejection {
            Rejection::Refused(value) => {
                self.note_refusal(dev, opcode, value);
                CmdError::Refused(EFAULT)
            }
            Rejection::Gone => slots.note_loss(dev),
        })
    }

    /// Waits for the answer to the command `opcode`, which was started.
    fn wait(
        &self,
        dev: &Device,
        regs: &Regs<'_>,
        slots: &mut Slots,
        opcode: Opcode,
    ) -> Result<Response, CmdError> {
        let start = Instant::<Monotonic>::now();

        loop {
            // Taken before the last look, so that there is one after the time is up.
            let late = start.elapsed() >= TIMEOUT;

            if let Some(response) = slots.look(opcode).map_err(|_| CmdError::Unknown)? {
                return match response.header.err {
                    0 => Ok(response),
                    err => {
                        self.note_refusal(dev, opcode, err.into());
                        Err(CmdError::Refused(EINVAL))
                    }
                };
            }

            if late {
                self.counters.timeouts.inc();
                slots.state = State::Dead;
                dev_err!(
                    dev,
                    "{:?} not answered, no more commands are sent\n",
                    opcode
                );
                return Err(CmdError::Unknown);
            }

            if matches!(self.sleep(), Wake::Idle) && regs.is_gone() {
                return Err(slots.note_loss(dev));
            }
        }
    }

    /// Counts a refused command and logs it.
    ///
    /// Processes can make the device refuse commands as often as they like, so the log gets the
    /// first, the second, the fourth, the eighth and so on.
    fn note_refusal(&self, dev: &Device, opcode: Opcode, reason: u32) {
        self.counters.refused.inc();
        let count = self.counters.refused.get();

        if count.is_power_of_two() {
            dev_warn!(
                dev,
                "{:?} refused by the device: {:#x} ({} so far)\n",
                opcode,
                reason,
                count
            );
        }
    }

    /// Sleeps until it is worth while to look at the response slot.
    fn sleep(&self) -> Wake {
        let mut hint = self.hint.lock();

        if !*hint {
            match self
                .hinted
                .wait_interruptible_timeout(&mut hint, msecs_to_jiffies(SLICE_MS))
            {
                CondVarTimeoutResult::Woken { .. } => (),
                CondVarTimeoutResult::Timeout => return Wake::Idle,
                CondVarTimeoutResult::Signal { .. } => {
                    drop(hint);
                    // The device works on the command, so the signal has to wait.
                    fsleep(SIGNAL_SLICE);
                    return Wake::Idle;
                }
            }
        }
        *hint = false;

        Wake::Hint
    }
}

/// Why [`Channel::sleep`] returned.
enum Wake {
    /// There may be an answer.
    Hint,
    /// No interrupt arrived for a while, or a signal is pending.
    Idle,
}

/// Why a command or control was not accepted.
enum Rejection {
    /// The device refused it and left this in the error register.
    Refused(u32),
    /// There is no device.
    Gone,
}

impl Slots {
    /// Returns whether the device accepted what was just started.
    ///
    /// The read also makes sure that the register write before it has reached the device.
    fn accepted(&self, regs: &Regs<'_>) -> Result<(), Rejection> {
        match regs.error() {
            0 => Ok(()),
            regs::GONE if regs.is_gone() => Err(Rejection::Gone),
            value => Err(Rejection::Refused(value)),
        }
    }

    /// Notes that the adapter left its slot.
    fn note_loss(&mut self, dev: &Device) -> CmdError {
        dev_err!(dev, "the adapter is gone\n");
        self.state = State::Gone;
        CmdError::Refused(ENODEV)
    }
}

/// Returns what is to be written to the command slot: `command`, then zeros.
fn encode<C: Command>(command: &C) -> Result<Request> {
    let mut wire = command.wire(RequestHeader {
        response: KEY,
        cmd: C::OPCODE.into(),
        reserved: 0,
    });
    let mut request = Request {
        words: [0; REQUEST_LEN / 8],
    };
    let bytes = wire.as_mut_bytes();

    request
        .as_mut_bytes()
        .get_mut(..bytes.len())
        .ok_or(EINVAL)?
        .copy_from_slice(bytes);
    Ok(request)
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_cmd)]
mod tests {
    use super::*;
    use crate::{
        commands::{
            CreateBind,
            CreatePd,
            Destroy, //
        },
        handle::{
            Handle,
            Qp,
            Uc, //
        },
    };

    /// Returns the bytes that `command` puts into the slot.
    fn bytes<C: Command>(command: &C) -> Result<[u8; REQUEST_LEN]> {
        let mut request = encode(command)?;

        request.as_mut_bytes().try_into().map_err(|_| EINVAL)
    }

    #[test]
    fn short_commands_are_followed_by_zeros() -> Result {
        let bytes = bytes(&CreatePd {
            context: Some(Handle::<Uc>::new(0x0102_0304)),
        })?;
        let mut expected = [0; REQUEST_LEN];

        expected[8] = 2;
        expected[16..20].copy_from_slice(&[4, 3, 2, 1]);
        assert!(bytes == expected);
        Ok(())
    }

    #[test]
    fn long_commands_fit() -> Result {
        let bytes = bytes(&CreateBind {
            index: 1,
            gid: [0xaa; 16],
            gid_type: 2,
        })?;

        // 1024 bytes, no VLAN.
        assert!(bytes[16..24] == [0, 4, 0, 0, 0xff, 0x0f, 0, 0]);
        assert!(bytes[24..28] == [1, 0, 0, 0]);
        assert!(bytes[28..44] == [0xaa; 16]);
        assert!(
            bytes[44..] == {
                let mut rest = [0; REQUEST_LEN - 44];
                rest[0] = 2;
                rest
            }
        );
        Ok(())
    }

    #[test]
    fn destroy_takes_the_number_of_the_kind() -> Result {
        let bytes = bytes(&Destroy(Handle::<Qp>::new(5)))?;

        assert_eq!(bytes[8], 12);
        assert_eq!(bytes[16], 5);
        Ok(())
    }

    #[test]
    fn only_the_matching_answer_counts() {
        let header = |response, ack, err| ResponseHeader {
            response,
            ack,
            err,
            reserved: [0; 3],
        };
        let opcode = Opcode::CreateMr;

        assert!(answers(&header(0, 0x8000_0004, 0), opcode));
        // A refusal is an answer too.
        assert!(answers(&header(0, 0x8000_0004, 22), opcode));
        // Of another command, of none, of one with another key.
        assert!(!answers(&header(0, 0x8000_0005, 0), opcode));
        assert!(!answers(&header(0, 0, 0), opcode));
        assert!(!answers(&header(0, 4, 0), opcode));
        assert!(!answers(&header(1, 0x8000_0004, 0), opcode));
    }

    #[test]
    fn a_dead_channel_refuses() {
        assert_eq!(State::Ready.check(), Ok(()));
        assert_eq!(State::Dead.check(), Err(CmdError::Refused(EIO)));
        assert_eq!(State::Gone.check(), Err(CmdError::Refused(ENODEV)));
        assert_eq!(CmdError::Refused(EFAULT).code(), EFAULT);
        assert_eq!(CmdError::Unknown.code(), ETIMEDOUT);
    }
}
