/** Finds and compiles the engine's file. It is read once; every instance is made from that. */
import { readFile } from 'node:fs/promises';

import type { Loader, WasmInstance } from './engine.ts';

interface Glue {
  load(source: WebAssembly.Module): Promise<WasmInstance>;
}

/** `folder` holds `ekiden.wasm` and `ekiden.mjs`. */
export function loaderFrom(folder: URL): Loader {
  let compiled: Promise<[Glue, WebAssembly.Module]> | undefined;
  return async () => {
    compiled ??= compile(folder);
    try {
      const [glue, module] = await compiled;
      return await glue.load(module);
    } catch (error) {
      // A file that was put right is read anew.
      compiled = undefined;
      throw error;
    }
  };
}

async function compile(folder: URL): Promise<[Glue, WebAssembly.Module]> {
  const [glue, bytes] = await Promise.all([
    import(new URL('ekiden.mjs', folder).href) as Promise<Glue>,
    readFile(new URL('ekiden.wasm', folder)),
  ]);
  return [glue, await WebAssembly.compile(bytes)];
}
