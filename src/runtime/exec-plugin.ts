import { spawn } from 'node:child_process'
import type { PluginCommand } from '../notebooks/kubernetes/exec-credential.ts'

/** What a plugin may print, in bytes; credentials are a few KiB. */
const MAX_OUTPUT_BYTES = 1024 * 1024
const MAX_ERROR_CHARACTERS = 500

/**
 * Runs a credential plugin and resolves to what it prints. Rejects when it cannot be run, ends with another exit code
 * than 0, prints more than 1 MiB or takes longer than `timeoutMs`; then it and the processes that it has started in
 * its group are killed.
 */
export function runPlugin({ command, args, env }: PluginCommand, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    // A group of its own: a plugin that is a shell script leaves children behind that hold its output open.
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const output: Buffer[] = []
    let bytes = 0
    let complaint = ''
    const fail = (why: string, cause?: unknown): void => {
      clearTimeout(timer)
      if (child.pid !== undefined) killGroup(child.pid)
      child.stdout.destroy()
      child.stderr.destroy()
      reject(new Error(`the credential plugin ${command} ${why}`, { cause }))
    }
    const timer = setTimeout(() => fail(`does not end within ${timeoutMs / 1000} s`), timeoutMs)
    child.stdout.on('data', (chunk: Buffer) => {
      output.push(chunk)
      bytes += chunk.length
      if (bytes > MAX_OUTPUT_BYTES) fail('prints more than 1 MiB')
    })
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = `${complaint}${chunk.toString()}`.slice(0, MAX_ERROR_CHARACTERS)
    })
    child.on('error', (error) => fail('cannot be run', error))
    child.on('close', (code, signal) => {
      if (code !== 0) return fail(`ended with ${code === null ? signal : `exit code ${code}`}: ${complaint}`)
      clearTimeout(timer)
      resolve(Buffer.concat(output).toString())
    })
  })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
