/** The plugin's door to the host. It decides nothing. */
import type { Context } from '@deepseek-ai/cordis';

export const name = 'ekiden';
export const inject = ['llm'];

export function apply(_ctx: Context): void {}
