/**
 * What is set, known and kept, put together over the folder `ekiden` in the host's home. Where that
 * folder cannot be used everything lives in memory, and says why; nothing here throws.
 */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

import { HostCatalog, type HostModels } from './catalog.ts';
import { Folder, messageOf } from './files.ts';
import { HomeKeeper } from './keeper.ts';
import { SettingsPlans } from './plans.ts';
import type { Clock } from './ports.ts';
import { adopt } from './seed.ts';
import { placeOf, SettingsFile } from './settings-file.ts';
import { single, type Config } from './settings.ts';

/** Adapters register themselves while the host starts; whoever asks before hears of none. */
const FIRST_SCAN_MS = 1_000;

export interface Home {
  readonly folder: Folder | undefined;
  readonly settings: SettingsFile;
  readonly catalog: HostCatalog;
  readonly plans: SettingsPlans;
  readonly keeper: HomeKeeper;
  /** Nothing is written or watched afterwards. */
  close(): void;
}

/** Where the host keeps a user's data: as the host itself finds it. */
export function hostHome(env: Readonly<Record<string, string | undefined>>): string {
  const set = env['DSH_HOME'];
  if (set === undefined || set === '') return join(homedir(), '.dsh');
  return set === '~' || /^~[/\\]/.test(set) ? join(homedir(), set.slice(1)) : resolve(set);
}

export function openHome(path: string, clock: Clock, host: HostModels): Home {
  const { folder, whyNot } = openFolder(join(path, 'ekiden'), clock);
  const settings = new SettingsFile(folder, clock, whyNot);
  const catalog = new HostCatalog({ folder, clock, host, hidden: () => hiddenIn(settings.config) });
  let keeper: HomeKeeper | undefined;
  const plans = new SettingsPlans({
    settings,
    catalog,
    deleted: () => keeper?.state.deleted ?? new Set(),
  });
  keeper = new HomeKeeper(
    {
      folder,
      clock,
      day: (wallMs) => plans.day(wallMs).number,
      journalMax: () => journalMax(settings.config),
    },
    whyNot,
  );
  takeOver(path, settings, keeper, clock);
  const ends = [
    settings.watch(),
    follow(settings, keeper, catalog),
    learning(plans, catalog),
    firstScan(catalog, clock),
  ];
  const kept = keeper;
  // A host that ends without unloading its plugins loses nothing that was learnt.
  const last = (): void => kept.flushAtLast();
  process.on('exit', last);
  return {
    folder,
    settings,
    catalog,
    plans,
    keeper,
    close: () => {
      process.off('exit', last);
      for (const end of ends) end();
      plans.close();
      catalog.close();
      kept.close();
    },
  };
}

/** Another plugin's files are read once, and only where nobody has set anything here. */
function takeOver(path: string, settings: SettingsFile, keeper: HomeKeeper, clock: Clock): void {
  const before = settings.status();
  if (
    before.hash !== 'absent' ||
    before.refused.length > 0 ||
    before.readOnly !== undefined ||
    keeper.state.seedRead
  )
    return;
  const found = adopt(path, keeper.state.day, clock.wallMs());
  if (!found) return;
  try {
    if (found.document) settings.create(found.document);
  } catch (error) {
    keeper.tell({ what: 'seed_refused', message: messageOf(error) });
    return;
  }
  for (const fact of [...found.facts, { what: 'seed_read' }]) keeper.adopt(fact);
  keeper.tell({
    what: 'seed_taken',
    queues: found.queues,
    facts: found.facts.length,
    left_out: found.leftOut.slice(0, 50),
  });
}

/** What changes of settings mean for what is kept: deleted ids, the journal, providers that are back. */
function follow(settings: SettingsFile, keeper: HomeKeeper, catalog: HostCatalog): () => void {
  return settings.on({
    taken: (now, before) => {
      for (const { id } of before.queues)
        if (!now.queues.some((queue) => queue.id === id)) keeper.queueDeleted(id);
      for (const { id } of now.queues) keeper.queueMade(id);
      keeper.tell({ what: 'settings_taken' });
      const hidden = hiddenIn(now);
      if (hiddenIn(before).some((provider) => !hidden.includes(provider))) void catalog.rescan();
    },
    refused: (problem) => {
      keeper.tell({
        what: 'settings_refused',
        place: placeOf(problem).replace(/: $/, ''),
        message: problem.message,
      });
    },
  });
}

/** Candidates that nobody lists are asked for by name, once (R35, R36). */
function learning(plans: SettingsPlans, catalog: HostCatalog): () => void {
  const learn = (): void => catalog.learn(plans.all().flatMap(({ candidates }) => candidates));
  learn();
  return plans.onChange(learn);
}

/**
 * Who was never asked is asked once, when the host's adapters are there: all of them at the first
 * start, and later whoever came since (R37). What was answered stands until a rescan.
 */
function firstScan(catalog: HostCatalog, clock: Clock): () => void {
  const asked = new Set<string>();
  let stop = (): void => {};
  const fresh = (): string[] => catalog.unasked.filter((id) => !asked.has(id));
  const arm = (): void => {
    stop();
    if (fresh().length === 0) return;
    stop = clock.setTimer(FIRST_SCAN_MS, () => {
      const providers = fresh();
      for (const id of providers) asked.add(id);
      if (providers.length > 0) void catalog.rescan(providers);
    });
  };
  arm();
  const unheard = catalog.onChange(arm);
  return () => {
    stop();
    unheard();
  };
}

function hiddenIn(config: Config): readonly string[] {
  const value = single(config, 'top', 'hidden_providers');
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

function journalMax(config: Config): number {
  return single(config, 'journal', 'enabled') === true
    ? Number(single(config, 'journal', 'entries_max'))
    : 0;
}

function openFolder(path: string, clock: Clock): { folder: Folder | undefined; whyNot?: string } {
  try {
    return { folder: new Folder(path, () => clock.wallMs()) };
  } catch (error) {
    return { folder: undefined, whyNot: messageOf(error) };
  }
}
