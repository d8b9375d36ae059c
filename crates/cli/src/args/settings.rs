//! What can be asked about settings, queues, providers and keys.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Asking;

/// What to do about queues.
#[derive(Debug, Subcommand)]
pub(crate) enum QueueTask {
    List(Asking),
    New(NewQueueArgs),
    Rename(RenameArgs),
    Delete(DeleteArgs),
    Add(AddArgs),
    Remove(PlaceArgs),
    Move(MoveArgs),
    Order(OrderArgs),
    Export(ExportArgs),
    Import(ImportArgs),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct NewQueueArgs {
    #[arg(value_name = "NAME")]
    pub(crate) queue_name: String,
    #[arg(value_name = "ROUTE")]
    pub(crate) routes: Vec<String>,
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RenameArgs {
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: String,
    #[arg(value_name = "NAME")]
    pub(crate) queue_name: String,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct DeleteArgs {
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: String,
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[arg(long, value_name = "PLACE", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) at: Option<u32>,
}

/// A candidate of a queue.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlaceArgs {
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: String,
    #[arg(value_name = "ROUTE")]
    pub(crate) route: String,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    pub(crate) candidate: PlaceArgs,
    #[arg(value_name = "PLACE", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) place: u32,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct OrderArgs {
    #[arg(value_name = "QUEUE", required = true)]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ExportArgs {
    #[arg(value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ImportArgs {
    #[arg(value_name = "FILE")]
    pub(crate) from: PathBuf,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// What to do about providers.
#[derive(Debug, Subcommand)]
pub(crate) enum ProviderTask {
    List(Asking),
    Hide(KeyArgs),
    Restore(KeyArgs),
}

/// What to do about keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyTask {
    Set(KeyArgs),
    Forget(KeyArgs),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct KeyArgs {
    #[arg(value_name = "PROVIDER")]
    pub(crate) provider: String,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// What to do about settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigTask {
    Get(GetArgs),
    Set(SetArgs),
    Unset(UnsetArgs),
    Path,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct GetArgs {
    #[arg(value_name = "KEY")]
    pub(crate) some_key: Option<String>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `KEY VALUE`, or `KEY=VALUE` as often as there are keys.
#[derive(Args, Clone, Debug)]
#[command(override_usage = "ekiden config set [OPTIONS] <KEY> <VALUE>\n       \
                            ekiden config set [OPTIONS] <KEY=VALUE>...")]
pub(crate) struct SetArgs {
    #[arg(value_name = "KEY")]
    pub(crate) first_key: String,
    // One that may begin with a hyphen takes no flags for values, as a list of such would.
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) value: Option<String>,
    #[arg(value_name = "KEY=VALUE", hide = true)]
    pub(crate) more: Vec<String>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

impl SetArgs {
    /// All that was written, in order.
    pub(crate) fn words(&self) -> Vec<&str> {
        let first = [Some(&self.first_key), self.value.as_ref()].into_iter().flatten();
        first.chain(&self.more).map(String::as_str).collect()
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct UnsetArgs {
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) asking: Asking,
}
