//! Opening the file, and its versions. It refuses to touch a file that it does not know.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::folder::private_file;

/// What each version adds to the one before it. The number of a version is its place here, from 1;
/// a version that was ever released never changes.
pub(super) const MIGRATIONS: &[&str] =
    &[include_str!("schema.sql"), include_str!("schema2.sql"), include_str!("schema3.sql")];

/// Says whose file it is: "Ekid".
const APPLICATION_ID: i32 = 0x456b_6964;

/// How long a lock of another program is waited for. Only the writer, and who reads, wait.
const BUSY: Duration = Duration::from_secs(1);

/// Why a file is not opened. It is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A newer program wrote it: run that one, or choose another state folder.
    #[error("{} has version {found}, and this program knows versions up to {known}", .path.display())]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest one known.
        known: usize,
    },
    /// Another program's: choose another state folder.
    #[error("{} is the file of another program", .path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
    /// It is no database, or is broken: move it away, or put a copy back.
    #[error("{} is damaged: {source}", .path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It cannot be made, read or written: look at path, permissions and disk.
    #[error("{} cannot be used: {source}", .path.display())]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The writer's connection to a file of the newest version.
pub(super) fn writing(path: &Path) -> Result<Connection, OpenError> {
    // SQLite gives its log and index the file's own permissions.
    let file = private_file(path)
        .map_err(|source| OpenError::Unusable { path: path.into(), source: Box::new(source) })?;
    let empty = file.metadata().is_ok_and(|about| about.len() == 0);
    drop(file);
    if !empty {
        look(path)?;
    }
    let failed = |source| failed(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(64);
    set_up(&connection).map_err(failed)?;
    migrate(&mut connection, MIGRATIONS).map_err(failed)?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn reading(path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(connection)
    };
    open().map_err(|source| failed(path, source))
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    // Where the log is impossible (some network disks) SQLite keeps its journal, and all still holds.
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "trusted_schema", false)
}

/// Reads whose file it is and of which version, and changes nothing.
fn look(path: &Path) -> Result<(), OpenError> {
    let failed = |source| failed(path, source);
    let connection = reading(path)?;
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get(0));
    let found: i64 = number("user_version").map_err(failed)?;
    let owner: i64 = number("application_id").map_err(failed)?;
    let tables = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = connection.query_row(tables, [], |row| row.get(0)).map_err(failed)?;
    if tables > 0 && owner != i64::from(APPLICATION_ID) {
        return Err(OpenError::Foreign { path: path.into() });
    }
    let known = MIGRATIONS.len();
    if usize::try_from(found).is_ok_and(|found| found <= known) {
        Ok(())
    } else {
        Err(OpenError::Newer { path: path.into(), found, known })
    }
}

/// Brings a file to the newest version, each step whole or not at all.
pub(super) fn migrate(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    let from: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(from).unwrap_or(usize::MAX);
    for (number, step) in (1_i64..).zip(steps).skip(done) {
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        change.execute_batch(step)?;
        change.pragma_update(None, "application_id", APPLICATION_ID)?;
        change.pragma_update(None, "user_version", number)?;
        change.commit()?;
    }
    Ok(())
}

fn failed(path: &Path, source: rusqlite::Error) -> OpenError {
    let path = path.into();
    let damaged = matches!(
        source.sqlite_error_code(),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
    );
    let source = Box::new(source);
    if damaged { OpenError::Damaged { path, source } } else { OpenError::Unusable { path, source } }
}
