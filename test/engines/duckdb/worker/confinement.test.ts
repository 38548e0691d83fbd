import { spawnSync } from 'node:child_process'
import { mkdtempSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDuckDbSandbox } from '../../../../src/engines/duckdb/worker/sandbox.ts'
import { confined } from '../../../../src/engines/duckdb/worker/confinement.ts'
import { scriptWorker } from '../../../../src/engines/duckdb/worker/worker-command.ts'
import { CAN_WATCH_WORKERS, readProc, workersOf } from '../../../support/query-workers.ts'

const empty = mkdtempSync(join(tmpdir(), 'lockhouse-no-tools-'))
afterAll(() => rmSync(empty, { recursive: true, force: true }))

const TOOLS = '/usr/local/bin:/usr/bin:/bin'
const works = (file: string, ...args: readonly string[]): boolean =>
  spawnSync(file, [...args, 'true'], { env: { PATH: TOOLS } }).status === 0

/** What a confined command prints, with the tools of a search path. */
function printed(path: string, command: string, ...args: readonly string[]): string {
  const { file, args: all } = confined({ file: command, args }, '-S -d 1000000')
  const { stdout, status, stderr } = spawnSync(file, all, { env: { PATH: path }, encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout
}

describe.runIf(process.platform !== 'win32')('a confined command', () => {
  it('runs with its own arguments, unchanged', () => {
    const odd = ['a b', '', '$HOME', "it's", '-n', '--net', '*', 'ä']
    expect(printed(TOOLS, '/bin/sh', '-c', String.raw`printf '<%s>' "$@"`, 'x', ...odd)).toBe(
      odd.map((text) => `<${text}>`).join(''),
    )
  })

  it('runs where no tool is there that could confine it', () => {
    expect(printed(empty, '/bin/sh', '-c', 'echo runs')).toBe('runs\n')
  })
})

describe.runIf(CAN_WATCH_WORKERS)('a process of user SQL', () => {
  const sandbox = createDuckDbSandbox({ command: markedWorker() })
  let pid = 0
  beforeAll(async () => {
    await sandbox.check({ kind: 'query', text: 'SELECT 1', relations: [] })
    pid = workersOf(process.pid, marker())[0]?.pid ?? 0
  })
  afterAll(() => sandbox.close())

  it('cannot get new rights where the system can keep it from them', () => {
    expect(/NoNewPrivs:\t(\d)/.exec(readProc(`${pid}/status`))?.[1]).toBe(
      works('setpriv', '--no-new-privs') ? '1' : '0',
    )
  })

  it('has a network of its own where the system gives it one', () => {
    const options = process.getuid?.() === 0 ? ['--net'] : ['--user', '--map-current-user', '--net']
    const isOwn = readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net')
    expect(isOwn).toBe(works('unshare', ...options))
    if (!isOwn) return
    const interfaces = readProc(`${pid}/net/dev`)
      .split('\n')
      .slice(2)
      .filter((line) => line.trim() !== '')
    expect(interfaces.map((line) => line.split(':')[0]?.trim())).toEqual(['lo'])
  })

  it('has only a search path and a time zone in its environment', () => {
    const names = readProc(`${pid}/environ`)
      .split('\0')
      .filter((entry) => entry !== '')
      .map((entry) => entry.split('=')[0] ?? '')
    expect(names.filter((name) => !['PATH', 'TZ', 'PWD', 'SHLVL', '_', 'OLDPWD'].includes(name))).toEqual([])
  })
})

function marker(): string {
  return `confinement-test-${process.pid}`
}

function markedWorker(): ReturnType<typeof scriptWorker> {
  const command = scriptWorker()
  return { ...command, args: [...command.args, marker()] }
}
