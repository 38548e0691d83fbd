import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../../src/config/config.ts'

const read = (name: string): string => readFileSync(new URL(`../../../deploy/systemd/${name}`, import.meta.url), 'utf8')
const unit = read('lockhouse.service')
const environment = read('lockhouse.env')
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

/** The `NAME=value` lines of a unit or an environment file; with `commented`, also those after `# `. */
function settings(text: string, { commented = false } = {}): Record<string, string> {
  const lines = text.split('\n').map((line) => (commented ? line.replace(/^# (?=[A-Z_]+=)/, '') : line))
  return Object.fromEntries(
    lines
      .map((line) => /^(\w+)=(.*)$/.exec(line))
      .filter((match) => match !== null)
      .map(([, name = '', value = '']) => [name, value]),
  )
}

describe('the unit of systemd', () => {
  it('confines the service to a user without privileges and one writable folder', () => {
    expect(settings(unit)).toMatchObject({
      User: 'lockhouse',
      StateDirectory: 'lockhouse',
      StateDirectoryMode: '0700',
      ProtectSystem: 'strict',
      ProtectHome: 'yes',
      NoNewPrivileges: 'yes',
      CapabilityBoundingSet: '',
    })
    expect(settings(unit)).not.toHaveProperty('ReadWritePaths')
    expect(settings(unit)).not.toHaveProperty('MemoryDenyWriteExecute')
  })

  it('keeps the state in that folder, and waits longer for the end of the service than the service does', () => {
    const { Environment = '', StateDirectory = '', TimeoutStopSec = '' } = settings(unit)
    expect(Environment.split(' ')).toContain(`LOCKHOUSE_HOME=/var/lib/${StateDirectory}`)
    const source = readFileSync(fileURLToPath(new URL('../../../src/server/run-service.ts', import.meta.url)), 'utf8')
    const limit = /SHUTDOWN_LIMIT_MS = ([\d_]+)/.exec(source)?.[1]?.replaceAll('_', '')
    expect(Number(limit)).toBeGreaterThan(0)
    expect(Number(TimeoutStopSec) * 1000).toBeGreaterThan(Number(limit))
  })

  it('has an example of settings that the service accepts, all of them and those that are not commented out', () => {
    expect(parseConfig(settings(environment))).toMatchObject({ host: '127.0.0.1', port: 3000, demo: false })
    const secrets = { LOCKHOUSE_ADMIN_TOKEN: 't'.repeat(32), AUDIT_KEY: 'k'.repeat(32), METRICS_TOKEN: 'm'.repeat(32) }
    const all = settings(environment, { commented: true })
    expect(Object.keys(all)).toEqual(expect.arrayContaining(Object.keys(secrets)))
    expect(parseConfig({ ...all, ...secrets }).databaseUrl).toBeDefined()
  })

  it.skipIf(!hasSystemd)('is accepted by systemd without a warning', () => {
    const folder = mkdtempSync(join(tmpdir(), 'lockhouse-unit-'))
    try {
      const file = join(folder, 'lockhouse.service')
      writeFileSync(file, unit.replace('/usr/local/bin/lockhouse', process.execPath)) // it must exist
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      writeFileSync(file, `${unit}\n[Service]\nProtectSystme=strict\n`)
      expect(spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' }).stderr).toContain('ProtectSystme')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
