//! What people do to a running engine: let go, end, configure, restart.

use super::*;

impl World {
    pub(super) fn release(&mut self, kind: u64, pick: u64) -> Result {
        let session = SessionId(pick % 6);
        let route = RouteId((pick >> 8) as u32 % ROUTES as u32);
        let queue = ekiden_engine::QueueId((pick >> 16) as u32 % 3);
        let release = match kind {
            0 | 1 => Release::Session(session),
            2 | 3 => Release::Place(Place { session, queue, route }),
            4..7 => Release::Route(route),
            _ => Release::All,
        };
        self.line(&release_line(release));
        self.engine.release(release);
        self.reference.release(release);
        self.attend()
    }

    pub(super) fn end_session(&mut self, session: SessionId) -> Result {
        self.line(&end_line(self.now, session));
        self.engine.end_session(self.now, session);
        self.reference.end_session(self.now, session);
        self.attend()
    }

    pub(super) fn configure(&mut self, pick: u64, seed: u64) -> Result {
        let Some(index) = some(pick, self.scene.queues.len()) else { return Ok(()) };
        let old = Arc::clone(&self.scene.queues[index]);
        let new = Arc::new(scene::queue(&mut Rng::new(seed), old.id));
        self.line(&queue_line(&new));
        self.scene.queues[index] = Arc::clone(&new);
        for candidate in &old.candidates {
            if new.candidates.iter().all(|other| other.route != candidate.route) {
                self.line(&leave_line(self.now, old.id, candidate.route));
                self.engine.leave_queue(self.now, old.id, candidate.route);
                self.reference.leave_queue(self.now, old.id, candidate.route);
                self.attend()?;
            }
        }
        Ok(())
    }

    pub(super) fn restart(&mut self) {
        self.line(&restart_line(self.day));
        self.engine = Engine::new(self.day);
        self.reference = Reference::new(self.day);
        self.calls.clear();
        self.wants.clear();
        self.lost.clear();
        self.pending.clear();
        for fact in self.disk.clone() {
            self.line(&recall_line(self.now, &fact));
            self.engine.recall(self.now, &fact);
            self.reference.recall(self.now, &fact);
        }
    }
}
