/**
 * Who may speak to us (D3). The host puts no fence around a plugin's paths, so this one stands by
 * itself. It refuses other machines, names that were rebound to this one, and other sites' pages,
 * also those of another port of this machine.
 */
import type { IncomingMessage } from 'node:http';
import { shown } from './masked.ts';

/** Why nobody is let in: 403. */
export function refusal(request: IncomingMessage): string | undefined {
  if (!isLoopback(request.socket.remoteAddress ?? '')) return 'only this machine may ask';
  const { host, origin } = request.headers;
  if (host === undefined || !isLoopback(hostName(host))) {
    return `the host \`${shown(host ?? '')}\` is not this machine; use http://127.0.0.1 or http://localhost`;
  }
  if (origin !== undefined && originHost(origin) !== host.toLowerCase()) {
    return `the origin \`${shown(origin)}\` may not ask here`;
  }
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    return 'a page of another site asked for this';
  }
  // A link that is followed may look, and change nothing.
  if (site === 'none' && request.method !== 'GET' && request.method !== 'HEAD') {
    return 'a page must ask for this itself';
  }
  return undefined;
}

/** Whether a name or an address is this machine, whatever its resolver says. */
function isLoopback(name: string): boolean {
  const bare = name
    .replace(/^::ffff:/i, '')
    .replace(/\.$/, '')
    .toLowerCase();
  const four = /^127\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(bare);
  return (
    bare === 'localhost' ||
    bare === '::1' ||
    (four?.slice(1).every((part) => Number(part) <= 255) ?? false)
  );
}

/** The name in `name:port`, `[address]:port`. */
function hostName(host: string): string {
  const bracketed = /^\[([0-9a-fA-F:.]+)\](:\d{1,5})?$/.exec(host);
  if (bracketed) return bracketed[1] ?? '';
  return /^([^:]*)(:\d{1,5})?$/.exec(host)?.[1] ?? '';
}

function originHost(origin: string): string | undefined {
  return /^https?:\/\/([^/?#@]+)$/.exec(origin.toLowerCase())?.[1];
}
