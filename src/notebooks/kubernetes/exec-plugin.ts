import { spawn } from 'node:child_process'
import type { PluginCommand } from './exec-credential.ts'

/** Output limit of a plugin, in bytes; credentials are a few KiB. */
const MAX_OUTPUT_BYTES = 1024 * 1024
const MAX_ERROR_CHARACTERS = 500

/**
 * Runs a credential plugin and resolves to its output. Rejects when it cannot be run, exits with a code other than 0,
 * prints more than 1 MiB or takes longer than `timeoutMs`; its process group is then killed.
 */
export function runPlugin({ command, args, env }: PluginCommand, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    // Run in a separate process group: a shell script can leave child processes that keep its output open.
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const output: Buffer[] = []
    let bytes = 0
    let stderr = ''
    const fail = (why: string, cause?: unknown): void => {
      clearTimeout(timer)
      if (child.pid !== undefined) killGroup(child.pid)
      child.stdout.destroy()
      child.stderr.destroy()
      reject(new Error(`the credential plugin ${command} ${why}`, { cause }))
    }
    const timer = setTimeout(() => fail(`did not finish within ${timeoutMs / 1000} s`), timeoutMs)
    child.stdout.on('data', (chunk: Buffer) => {
      output.push(chunk)
      bytes += chunk.length
      if (bytes > MAX_OUTPUT_BYTES) fail('printed more than 1 MiB')
    })
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = `${stderr}${chunk.toString()}`.slice(0, MAX_ERROR_CHARACTERS)
    })
    child.on('error', (error) => fail('cannot be run', error))
    child.on('close', (code, signal) => {
      if (code !== 0) return fail(`ended with ${code === null ? signal : `exit code ${code}`}: ${stderr}`)
      clearTimeout(timer)
      resolve(Buffer.concat(output).toString())
    })
  })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}
