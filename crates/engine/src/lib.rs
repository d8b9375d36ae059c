//! The decisions of Ekiden.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod class;
pub mod time;
