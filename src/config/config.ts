import { type IpNetwork, parseIpNetwork } from '../domain/ip-address.ts'
import { isTrustworthyUrl } from '../domain/trustworthy-url.ts'
import { type AgentConfig, agentConfig } from './agent-config.ts'
import { ConfigError } from './config-error.ts'
import type { Env } from './env.ts'
import { type NotebookConfig, notebookConfig } from './notebook-config.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Settings of the process (contract, section 4); sizes in bytes, paths as given. */
export interface Config {
  readonly port: number
  readonly host: string
  /** State database, embedded warehouse and scratch space. */
  readonly home: string
  readonly adminToken: string | undefined
  readonly authMode: 'token' | 'off'
  /** The issuer whose JWTs are good here; undefined: none. */
  readonly jwt: JwtConfig | undefined
  /** As set, against the working directory; undefined: the built frontend beside `src`. */
  readonly frontendDir: string | undefined
  readonly allowedOrigins: readonly string[]
  /** Names that `env:NAME` in settings may have beside `LAKE_…`. */
  readonly configEnvAllow: readonly string[]
  /** Networks of proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly IpNetwork[]
  readonly logLevel: LogLevel
  readonly engine: { readonly memoryLimitBytes: number; readonly threads: number | undefined }
  /** Whether the first start makes a demo lakehouse. */
  readonly demo: boolean
  /** PostgreSQL for the state; undefined: SQLite under {@link Config.home}. */
  readonly databaseUrl: string | undefined
  /** Signs the end of the audit log; undefined: a key file under {@link Config.home}. */
  readonly auditKey: string | undefined
  /** Whether webhooks may reach private, loopback and link-local addresses. */
  readonly webhookAllowPrivate: boolean
  /** Whether who requested an approval may not decide it. */
  readonly approvalsForbidSelf: boolean
  readonly agent: AgentConfig
  readonly notebooks: NotebookConfig
}

/** An issuer of JWTs. */
export interface JwtConfig {
  readonly issuer: string
  readonly audience: string
  /** Undefined: found through the issuer's discovery document. */
  readonly jwksUrl: string | undefined
  readonly userClaim: string
  readonly roleClaim: string
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
const LOOPBACK = ['127.0.0.1', '::1', 'localhost']
const DEFAULT_MEMORY_LIMIT = '1GB'

/** Turns the environment into a checked configuration; throws {@link ConfigError} on a wrong or contradictory value. */
export function parseConfig(env: Env): Config {
  const config: Config = {
    port: integer(env, 'PORT', { fallback: 3000, min: 0, max: 65_535 }),
    host: env['HOST'] ?? '127.0.0.1',
    home: env['LOCKHOUSE_HOME'] ?? './data',
    adminToken: adminToken(env),
    authMode: oneOf(env, 'AUTH_MODE', { values: ['token', 'off'], fallback: 'token' }),
    jwt: jwtConfig(env),
    frontendDir: env['FRONTEND_DIR'],
    allowedOrigins: origins(env, 'ALLOWED_ORIGINS', 'http://localhost:5173'),
    configEnvAllow: names(env, 'CONFIG_ENV_ALLOW'),
    trustedProxies: trustedProxies(env),
    logLevel: oneOf(env, 'LOG_LEVEL', { values: LOG_LEVELS, fallback: 'info' }),
    engine: {
      memoryLimitBytes: byteSize(env, 'ENGINE_MEMORY_LIMIT', DEFAULT_MEMORY_LIMIT),
      threads: env['ENGINE_THREADS'] ? integer(env, 'ENGINE_THREADS', { fallback: 1, min: 1, max: 1024 }) : undefined,
    },
    demo: oneOf(env, 'LOCKHOUSE_DEMO', { values: ['0', '1'], fallback: '0' }) === '1',
    databaseUrl: databaseUrl(env),
    auditKey: auditKey(env),
    webhookAllowPrivate:
      oneOf(env, 'WEBHOOK_ALLOW_PRIVATE', { values: ['true', 'false'], fallback: 'false' }) === 'true',
    approvalsForbidSelf:
      oneOf(env, 'APPROVALS_FORBID_SELF', { values: ['true', 'false'], fallback: 'false' }) === 'true',
    agent: agentConfig(env),
    notebooks: notebookConfig(env),
  }
  if (config.authMode === 'off' && !LOOPBACK.includes(config.host)) {
    throw new ConfigError(`AUTH_MODE=off is allowed on loopback only, but HOST is ${config.host}`)
  }
  return config
}

function adminToken(env: Env): string | undefined {
  const token = env['LOCKHOUSE_ADMIN_TOKEN']
  if (token !== undefined && !/^[\x21-\x7e]{16,512}$/.test(token)) {
    throw new ConfigError('LOCKHOUSE_ADMIN_TOKEN must be 16 to 512 printable characters without spaces')
  }
  return token
}

function jwtConfig(env: Env): JwtConfig | undefined {
  const issuer = env['AUTH_JWT_ISSUER']
  const audience = env['AUTH_JWT_AUDIENCE']
  if (issuer === undefined) {
    const useless = ['AUTH_JWT_AUDIENCE', 'AUTH_JWKS_URL'].find((name) => env[name] !== undefined)
    if (useless !== undefined) throw new ConfigError(`${useless} needs AUTH_JWT_ISSUER`)
    return undefined
  }
  if (audience === undefined) {
    throw new ConfigError('AUTH_JWT_ISSUER needs AUTH_JWT_AUDIENCE: tokens for other services must not be good here')
  }
  const jwksUrl = env['AUTH_JWKS_URL']
  requireTrustworthy('AUTH_JWT_ISSUER', issuer)
  if (jwksUrl !== undefined) requireTrustworthy('AUTH_JWKS_URL', jwksUrl)
  const userClaim = env['AUTH_USER_CLAIM'] ?? 'sub'
  return { issuer, audience, jwksUrl, userClaim, roleClaim: env['AUTH_ROLE_CLAIM'] ?? 'role' }
}

function requireTrustworthy(name: string, url: string): void {
  if (!isTrustworthyUrl(url)) throw new ConfigError(`${name} must be an https address, or http on loopback`)
}

function trustedProxies(env: Env): IpNetwork[] {
  const texts = (env['TRUSTED_PROXIES'] ?? '').split(',').map((text) => text.trim())
  return texts
    .filter((text) => text !== '')
    .map((text) => {
      const network = parseIpNetwork(text)
      if (network !== undefined) return network
      throw new ConfigError(
        `TRUSTED_PROXIES must be addresses or networks such as 10.0.0.0/8, joined by commas, not ${JSON.stringify(text)}`,
      )
    })
}

function databaseUrl(env: Env): string | undefined {
  const text = env['DATABASE_URL']
  if (text === undefined || /^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? '')) return text
  throw new ConfigError('DATABASE_URL must be postgres://user:password@host:port/database')
}

function auditKey(env: Env): string | undefined {
  const key = env['AUDIT_KEY']
  if (key === undefined || key.length >= 32) return key
  throw new ConfigError('AUDIT_KEY must have at least 32 characters')
}

function origins(env: Env, setting: string, fallback: string): readonly string[] {
  const given = (env[setting] ?? fallback).split(',').map((origin) => origin.trim())
  const wrong = given.find((origin) => !/^https?:/.test(origin) || URL.parse(origin)?.origin !== origin)
  if (wrong === undefined) return given
  const example = 'https://app.example.com, with commas between them and without a path'
  throw new ConfigError(`${setting} must be origins such as ${example}, not ${JSON.stringify(wrong)}`)
}

function names(env: Env, setting: string): readonly string[] {
  const list = (env[setting] ?? '').split(',').map((name) => name.trim())
  const given = list.filter((name) => name !== '')
  const wrong = given.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
  if (wrong === undefined) return given
  throw new ConfigError(`${setting} must be names of variables with commas between them, not ${JSON.stringify(wrong)}`)
}

function integer(env: Env, name: string, rule: { fallback: number; min: number; max: number }): number {
  const text = env[name]
  if (text === undefined) return rule.fallback
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (value >= rule.min && value <= rule.max) return value
  throw new ConfigError(`${name} must be a whole number from ${rule.min} to ${rule.max}, not ${JSON.stringify(text)}`)
}

function oneOf<T extends string>(env: Env, name: string, rule: { values: readonly T[]; fallback: T }): T {
  const text = env[name] ?? rule.fallback
  const found = rule.values.find((value) => value === text)
  if (found !== undefined) return found
  throw new ConfigError(`${name} must be one of ${rule.values.join(', ')}, not ${JSON.stringify(text)}`)
}

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
}

function byteSize(env: Env, name: string, fallback: string): number {
  const text = env[name] ?? fallback
  const match = /^(\d+(?:\.\d+)?)\s*([KMGT]?I?B)$/i.exec(text.trim())
  const unit = match ? UNITS[(match[2] ?? '').toUpperCase()] : undefined
  const bytes = match && unit ? Math.floor(Number(match[1]) * unit) : 0
  if (bytes >= 64 * 2 ** 20) return bytes
  throw new ConfigError(`${name} must be a size of at least 64MiB such as 512MB or 2GiB, not ${JSON.stringify(text)}`)
}
