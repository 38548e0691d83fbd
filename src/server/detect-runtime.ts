import type { Runtime } from './runtime.ts'

/** The runtime that this process runs on; loads only the code for it. */
export async function detectRuntime(): Promise<Runtime> {
  if ('Bun' in globalThis) return (await import('./serve-bun.ts')).bunRuntime
  if ('Deno' in globalThis) return (await import('./serve-deno.ts')).denoRuntime
  return (await import('./serve-node.ts')).nodeRuntime
}
