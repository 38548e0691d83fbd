import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Env } from '../../config/env.ts'
import { CommandError } from '../errors.ts'

/** The file with the tokens of `lockhouse login`, by address of the service (XDG Base Directory specification). */
export function sessionFile(env: Env): string {
  const configured = env['XDG_CONFIG_HOME'] ?? ''
  return join(configured === '' ? join(env['HOME'] ?? homedir(), '.config') : configured, 'lockhouse', 'sessions.json')
}

/** The token of a service; undefined when nobody has signed in there. Throws {@link CommandError} for an unreadable file. */
export function storedToken(env: Env, server: string): string | undefined {
  return readAll(sessionFile(env)).get(server)
}

/** Stores the token of a service, or removes it; only this user of the machine can read the file. */
export function storeToken(env: Env, server: string, token: string | undefined): void {
  const file = sessionFile(env)
  const all = readAll(file)
  if (token === undefined) all.delete(server)
  else all.set(server, token)
  const staged = `${file}.${process.pid}`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(staged, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`, { mode: 0o600 })
    chmodSync(staged, 0o600) // also when the file was there before
    renameSync(staged, file)
  } catch {
    throw new CommandError(`${file} cannot be written`)
  }
}

function readAll(file: string): Map<string, string> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return new Map()
    throw new CommandError(`${file} cannot be read`)
  }
  try {
    const parsed: unknown = JSON.parse(text)
    const entries = typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : []
    return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  } catch {
    throw new CommandError(`${file} is not JSON: remove it and sign in again with "lockhouse login"`)
  }
}
