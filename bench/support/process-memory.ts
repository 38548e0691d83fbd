import { readFileSync } from 'node:fs'

/** CPU time that a process has used so far, in milliseconds, all threads, user and system (Linux). */
export function processCpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10 // clock ticks are hundredths of a second
}

/** Resident memory of a process in bytes, now and at its highest (Linux). */
export function processMemory(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytes = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) * 1024
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') }
}
