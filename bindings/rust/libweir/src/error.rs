// SPDX-License-Identifier: MIT
//! What weir's functions say when they fail.
use libweir_sys as sys;
use std::ffi::{c_char, c_int, CStr, CString};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// Why a limit was not understood, or a table not opened: weir's own message, which shows how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    column: usize,
    message: String,
}

/// The kinds of errors, for programs; people read the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text or an option means nothing.
    Invalid,
    /// Valid, but not possible here.
    Unsupported,
    /// The file was made with other options.
    Mismatch,
    /// The file is of another version of weir.
    Version,
    /// The system refused.
    System,
    /// No memory.
    NoMemory,
}

impl Error {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn with_message(self, message: impl FnOnce(&str) -> String) -> Error {
        Error { message: message(&self.message), ..self }
    }

    /// Where the limit's text is wrong, from 1; none if the error is not in it.
    pub fn column(&self) -> Option<usize> {
        (self.column > 0).then_some(self.column)
    }

    /// What is wrong, what was expected, and an example.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => f.write_str(&self.message),
            column => write!(f, "column {column}: {}", self.message),
        }
    }
}

impl std::error::Error for Error {}

/// What is wrong beside what weir says.
pub(crate) fn invalid(message: String) -> Error {
    Error { kind: ErrorKind::Invalid, column: 0, message }
}

/// Calls a function of weir that fills an error in.
pub(crate) fn checked(call: impl FnOnce(*mut sys::weir_error) -> c_int) -> Result<(), Error> {
    let mut error = sys::weir_error { code: 0, column: 0, message: [0; 248] };
    let kind = match call(&mut error) {
        0 => return Ok(()),
        sys::WEIR_EUNSUPPORTED => ErrorKind::Unsupported,
        sys::WEIR_EMISMATCH => ErrorKind::Mismatch,
        sys::WEIR_EVERSION => ErrorKind::Version,
        sys::WEIR_ESYSTEM => ErrorKind::System,
        sys::WEIR_ENOMEM => ErrorKind::NoMemory,
        _ => ErrorKind::Invalid,
    };
    // SAFETY: weir ends the message with a NUL, within the array.
    let message = unsafe { CStr::from_ptr(error.message.as_ptr()) };
    Err(Error {
        kind,
        column: usize::try_from(error.column).unwrap_or(0),
        message: message.to_string_lossy().into_owned(),
    })
}

/// A limiter or table that weir opened, and the function that closes it.
#[derive(Debug)]
pub(crate) struct Owned<T> {
    opened: NonNull<T>,
    close: unsafe extern "C" fn(*mut T),
    /// Of a limiter: whether its limits count several units, so that one number does not say of what.
    pub(crate) mixed: AtomicBool,
    /// Of a limiter: whether one of its limits is concurrent.
    pub(crate) leases: AtomicBool,
}

// SAFETY: weir.h: functions are safe from any thread, except the one that closes, which drop calls when no other can.
unsafe impl<T> Send for Owned<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Owned<T> {}

impl<T> Owned<T> {
    /// What an open writes; `close` has to be its counterpart.
    pub(crate) fn open(
        close: unsafe extern "C" fn(*mut T),
        open: impl FnOnce(*mut *mut T, *mut sys::weir_error) -> c_int,
    ) -> Result<Arc<Owned<T>>, Error> {
        let mut owned = std::ptr::null_mut();
        checked(|error| open(&mut owned, error))?;
        let none = || Error { kind: ErrorKind::NoMemory, column: 0, message: "not opened".to_owned() };
        let opened = NonNull::new(owned).ok_or_else(none)?;
        Ok(Arc::new(Owned { opened, close, mixed: AtomicBool::new(false), leases: AtomicBool::new(false) }))
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut T {
        self.opened.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the last owner, so all other calls have returned.
        unsafe { (self.close)(self.raw()) }
    }
}

/// A text for C, which ends it at a NUL.
pub(crate) fn c_text(what: &str, text: impl Into<Vec<u8>>) -> Result<CString, Error> {
    CString::new(text).map_err(|error| Error {
        kind: ErrorKind::Invalid,
        column: error.nul_position() + 1,
        message: format!("a NUL byte in {what}"),
    })
}

/// The text that a function of weir writes, whatever its length.
pub(crate) fn text_of(write: impl Fn(*mut c_char, usize) -> usize) -> String {
    let mut text = vec![0u8; write(std::ptr::null_mut(), 0) + 1];
    let length = write(text.as_mut_ptr().cast(), text.len());
    text.truncate(length.min(text.len() - 1));
    String::from_utf8_lossy(&text).into_owned()
}
