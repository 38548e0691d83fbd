import { readFileSync } from 'node:fs'

/** Resident memory of a process in bytes, now and at its highest (Linux). */
export function processMemory(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytes = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) * 1024
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') }
}
