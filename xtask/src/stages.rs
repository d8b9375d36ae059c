//! What is checked, in which order. A stage leaves nothing out silently: a tool that is missing is
//! a failure that says what to install.

use std::process::ExitCode;

use crate::command::Command;
use crate::project::Project;
use crate::report::{Report, say};
use crate::tally::{Runner, Tally, count};
use crate::{arrows, clients, dsh, house, sdk, soak, wasm};

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What takes seconds and runs no test.
    Checks,
    /// The checks and the quick tests.
    Fast,
    /// All that continuous integration runs.
    Everything,
}

pub(crate) fn run(project: &Project, extent: Extent) -> ExitCode {
    let mut report = Report::new();
    report.stage("format", || format(project));
    report.stage("arrows", || arrows::check(project));
    report.stage("house", || house::check(project));
    report.stage("clippy", || clippy(project));
    if extent != Extent::Checks {
        report.stage("tests", || tests(project));
        report.stage("wasm", || wasm::check(project));
    }
    if extent == Extent::Everything {
        let words = ["test", "--workspace", "--doc"];
        report.stage("doc tests", || watch(Runner::Libtest, project.cargo(&words)));
        report.stage("docs", || docs(project));
        report.stage("sdk", || sdk::run(project));
        report.stage("clients", || clients::light(project));
        report.stage("soak", || soak::quick(project));
        report.stage("dsh", || dsh::check(project, dsh::Depth::Everything));
    }
    report.close()
}

fn check(command: Command) -> anyhow::Result<Tally> {
    command.run().map(|()| Tally::PASSED)
}

pub(crate) fn watch(runner: Runner, command: Command) -> anyhow::Result<Tally> {
    Ok(count(runner, &command.watch()?))
}

/// Names the files that rustfmt would change.
fn format(project: &Project) -> anyhow::Result<Tally> {
    let words = ["fmt", "--all", "--check", "--", "--files-with-diff", "--color=never"];
    check(project.cargo(&words))
}

fn clippy(project: &Project) -> anyhow::Result<Tally> {
    let words = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    check(project.cargo(&words))
}

fn tests(project: &Project) -> anyhow::Result<Tally> {
    if project.cargo(&["nextest", "--version"]).read().is_ok() {
        let words = [
            "nextest",
            "run",
            "--workspace",
            "--cargo-quiet",
            "--no-fail-fast",
            "--no-tests=pass",
            "--hide-progress-bar",
            "--status-level=fail",
            "--final-status-level=fail",
        ];
        return watch(Runner::Nextest, project.cargo(&words));
    }
    say("cargo-nextest is not installed; the same tests run with cargo test");
    let words = ["test", "--quiet", "--workspace", "--all-targets", "--no-fail-fast"];
    watch(Runner::Libtest, project.cargo(&words))
}

fn docs(project: &Project) -> anyhow::Result<Tally> {
    let words = ["doc", "--quiet", "--workspace", "--no-deps"];
    check(project.cargo(&words).with("RUSTDOCFLAGS", "-D warnings"))
}
