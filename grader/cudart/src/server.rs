//! The device's end of the socket.

use crate::device::{Answer, Device};
use crate::protocol::{Reply, Request, read_frame, write_frame};
use std::io::{ErrorKind, Read, Result, Write};

/// How a program came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It said so, with the status that `main` returned.
    Finished(i32),
    /// The connection broke off: it exited or crashed.
    BrokeOff,
}

/// Serves one program until it ends.
///
/// # Errors
/// The program wrote something that is no request.
pub fn serve(stream: impl Read + Write, device: &mut impl Device) -> Result<Ended> {
    let mut stream = stream;
    loop {
        let (request, body) = match read_frame::<Request>(&mut stream) {
            Ok(frame) => frame,
            Err(e) if is_end(e.kind()) => return Ok(Ended::BrokeOff),
            Err(e) => return Err(e),
        };
        if let Request::Finished { status } = request {
            return Ok(Ended::Finished(status));
        }
        let answer = answer(device, request, &body);
        let (header, body) = match answer {
            Ok((reply, body)) => (Ok(reply), body),
            Err(error) => (Err(error), Vec::new()),
        };
        match write_frame(&mut stream, &header, &[&body]) {
            Err(e) if is_end(e.kind()) => return Ok(Ended::BrokeOff),
            written => written?,
        }
    }
}

fn is_end(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}

fn answer(device: &mut impl Device, request: Request, body: &[u8]) -> Answer<(Reply, Vec<u8>)> {
    let done = |()| (Reply::Done, Vec::new());
    let plain = |reply| (reply, Vec::new());
    Ok(match request {
        Request::Properties => plain(Reply::Properties(device.properties())),
        Request::Load => plain(Reply::Number(device.load(body)?)),
        Request::Alloc { bytes } => plain(Reply::Number(device.alloc(bytes)?)),
        Request::AllocShared { bytes } => plain(Reply::Number(device.alloc_shared(bytes)?)),
        Request::Free { address } => done(device.free(address)?),
        Request::Write { address } => done(device.write(address, body)?),
        Request::Read { address, bytes } => (Reply::Done, device.read(address, bytes)?),
        Request::Fill { address, bytes, value } => done(device.fill(address, bytes, value)?),
        Request::Copy { to, from, bytes } => done(device.copy(to, from, bytes)?),
        Request::Symbol { module, name } => {
            let (address, bytes) = device.symbol(module, &name)?;
            plain(Reply::Symbol { address, bytes })
        }
        Request::WriteSymbol { module, name, offset } => {
            done(device.write_symbol(module, &name, offset, body)?)
        }
        Request::ReadSymbol { module, name, offset, bytes } => {
            (Reply::Done, device.read_symbol(module, &name, offset, bytes)?)
        }
        Request::Kernel { module, name } => plain(Reply::Kernel(device.kernel(module, &name)?)),
        Request::Launch(launch) => {
            let (launched, printed) = device.launch(&launch, body)?;
            (Reply::Launched(launched), printed.into_bytes())
        }
        Request::Memory => {
            let (free, total) = device.memory();
            plain(Reply::Memory { free, total })
        }
        Request::HeapSize { bytes } => done(device.resize_heap(bytes)?),
        Request::Finished { .. } => plain(Reply::Done),
    })
}
