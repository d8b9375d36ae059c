import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Calendar } from '../src/calendar.ts';

const ms = (text: string) => Date.parse(text);
const ends = (calendar: Calendar, at: string) =>
  new Date(calendar.day(ms(at)).endsMs).toISOString();

test('r17 the day turns at the reset hour of the zone', () => {
  const shanghai = new Calendar('Asia/Shanghai', 1);
  assert.equal(ends(shanghai, '2026-11-29T16:59:59Z'), '2026-11-29T17:00:00.000Z');
  assert.equal(ends(shanghai, '2026-11-29T17:00:00Z'), '2026-11-30T17:00:00.000Z');
  assert.equal(
    shanghai.day(ms('2026-11-29T17:00:00Z')).number,
    shanghai.day(ms('2026-11-29T16:59:59Z')).number + 1,
  );
});

test('r17 days are numbered as the gateway numbers them: by their date', () => {
  assert.equal(new Calendar('UTC', 0).day(ms('1970-01-02T00:00:00Z')).number, 1);
  assert.equal(
    new Calendar('UTC', 1).day(ms('2026-11-30T00:59:59Z')).number,
    ms('2026-11-29') / 86_400_000,
  );
});

test('r17 a skipped hour is the first instant after and a doubled one its first', () => {
  const berlin = new Calendar('Europe/Berlin', 2);
  assert.equal(ends(berlin, '2026-03-29T00:30:00Z'), '2026-03-29T01:00:00.000Z');
  assert.equal(ends(berlin, '2026-10-24T23:00:00Z'), '2026-10-25T00:00:00.000Z');
  assert.equal(
    ends(new Calendar('Australia/Lord_Howe', 2), '2026-10-03T15:00:00Z'),
    '2026-10-03T15:30:00.000Z',
  );
  const apia = new Calendar('Pacific/Apia', 1);
  const last = apia.day(ms('2011-12-30T09:00:00Z'));
  assert.ok(apia.day(ms('2011-12-30T11:30:00Z')).number > last.number);
  assert.ok(last.endsMs <= ms('2011-12-30T11:00:00Z'));
});

test('r17 every moment lies inside its day', () => {
  for (const zone of ['America/New_York', 'Africa/Cairo', 'America/Santiago', 'Asia/Beirut']) {
    for (const hour of [0, 2, 23]) {
      const calendar = new Calendar(zone, hour);
      let last = calendar.day(ms('2026-01-01T00:10:00Z'));
      for (
        let at = ms('2026-01-01T00:10:00Z');
        at < ms('2027-01-01T00:00:00Z');
        at += 30 * 60_000
      ) {
        const day = calendar.day(at);
        assert.ok(day.endsMs > at, `${zone} ${hour} ${at}`);
        assert.ok(
          day.number === last.number || (day.number === last.number + 1 && at >= last.endsMs),
          `${zone} ${hour} ${at}`,
        );
        last = day;
      }
    }
  }
});
