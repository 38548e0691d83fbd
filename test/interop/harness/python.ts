import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { PYTHON, REPOSITORY } from './environment.ts'
import { OutputTail } from './child-output.ts'

/** Runs a script of `test/interop/python` with a JSON argument and returns the JSON that it prints. */
export async function runPython<T>(script: string, argument: unknown): Promise<T> {
  if (!PYTHON) throw new Error('LOCKHOUSE_PYTHON is not set')
  const child = spawn(PYTHON, [`${REPOSITORY}/test/interop/python/${script}`, '-'], {
    env: { ...process.env, TZ: 'UTC', PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const errors = new OutputTail(child.stderr)
  const closed = once(child, 'close')
  child.stdin.end(JSON.stringify(argument))
  const output = await text(child.stdout)
  const [code] = await closed
  if (code !== 0) throw new Error(`${script} failed (${String(code)}):\n${errors.text}`)
  return JSON.parse(output) as T
}
