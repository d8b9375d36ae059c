//! A scripted upstream seen from outside: through its bytes and its log.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod client;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod director;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod pace;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod statuses;
#[cfg(test)]
mod words;
