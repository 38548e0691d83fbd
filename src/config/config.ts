import { z } from 'zod'
import type { Prices } from '../domain/tables/prices.ts'
import { type IpNetwork, parseIpNetwork } from '../domain/network/ip-address.ts'
import { isTrustworthyUrl } from '../domain/network/trustworthy-url.ts'
import type { ClaimRules } from '../domain/roles.ts'
import { type AgentConfig, agentSettings } from './agent-config.ts'
import { ConfigError } from './config-error.ts'
import type { Env } from './env.ts'
import { type MailConfig, mailSettings } from './mail-config.ts'
import { type NotebookConfig, notebookSettings } from './notebook-config.ts'
import { claimSettings, type OidcConfig, oidcSettings } from './sign-in-config.ts'
import {
  fromEnv,
  isPlainHttpUrl,
  listOf,
  looseListOf,
  oneOf,
  parsed,
  shown,
  variable,
  wholeNumber,
} from './variables.ts'

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** Settings of the process (docs/guide.md#settings); sizes in bytes, paths unchanged. */
export interface Config {
  readonly port: number
  readonly host: string
  /** Path below which everything is served, such as `/lake`; empty: the whole host. */
  readonly basePath: string
  /** State database, embedded warehouse and scratch space. */
  readonly home: string
  readonly adminToken: string | undefined
  readonly authMode: 'token' | 'off'
  /** The issuer whose JWTs are accepted; undefined: none. */
  readonly jwt: JwtConfig | undefined
  /** The provider that users sign in at; undefined: none. */
  readonly oidc: OidcConfig | undefined
  /** What the claims of JWTs and of the sign-in mean. */
  readonly claims: ClaimRules
  /** Relative to the working directory; undefined: the built frontend next to `src`. */
  readonly frontendDir: string | undefined
  readonly allowedOrigins: readonly string[]
  /** Names other than `LAKE_…` that `env:NAME` in settings may use. */
  readonly configEnvAllow: readonly string[]
  /** Networks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly IpNetwork[]
  readonly logLevel: LogLevel
  readonly engine: {
    readonly memoryLimitBytes: number
    readonly threads: number | undefined
    /** More bytes than this are for Spark, when a request leaves the choice. */
    readonly embeddedMaxBytes: number
  }
  /** The Spark Connect server; undefined: none. */
  readonly spark: SparkConfig | undefined
  /** Whether the first start creates a demo lakehouse. */
  readonly demo: boolean
  /** How long files that expiry and orphan removal take away can be restored; 0: they are deleted at once. */
  readonly quarantineDays: number
  /** PostgreSQL for the state; undefined: SQLite under {@link Config.home}. */
  readonly databaseUrl: string | undefined
  /** Signs the end of the audit log; undefined: a key file under {@link Config.home}. */
  readonly auditKey: string | undefined
  /** A token that only reads the metrics; undefined: none. */
  readonly metricsToken: string | undefined
  /** What storage and requests cost, for receipts. */
  readonly prices: Prices
  /** Where traces go; undefined: nowhere. */
  readonly traces: { readonly endpoint: string; readonly serviceName: string } | undefined
  /** Where run events go; undefined: nowhere. */
  readonly openLineage:
    | { readonly url: string; readonly apiKey: string | undefined; readonly namespace: string }
    | undefined
  /** Whether alerts may reach private, loopback and link-local addresses. */
  readonly webhookAllowPrivate: boolean
  /** The mail server for alerts; undefined: none. */
  readonly mail: MailConfig | undefined
  /** Whether users may not decide their own approval requests. */
  readonly approvalsForbidSelf: boolean
  readonly agent: AgentConfig
  readonly notebooks: NotebookConfig
}

/** A Spark Connect server. */
export interface SparkConfig {
  /** `sc://host:port/;token=…`. */
  readonly remote: string
  /** The server's name for the configured catalog; undefined: the catalog's own name. */
  readonly catalogName: string | undefined
  /** Whether pipelines may start there; maintenance always may. */
  readonly runsPipelines: boolean
}

/** An issuer of JWTs. */
export interface JwtConfig {
  readonly issuer: string
  readonly audience: string
  /** Undefined: found through the issuer's discovery document. */
  readonly jwksUrl: string | undefined
  readonly roleClaim: string
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost']
const DEFAULT_MEMORY_BYTES = 1e9
const MIN_MEMORY_BYTES = 64 * 2 ** 20

const DEFAULT_EMBEDDED_BYTES = 64 * 2 ** 30

const token = z.string().regex(/^[\x21-\x7e]{16,512}$/, 'must be 16 to 512 printable characters without spaces')

const trustworthyUrl = z.string().refine(isTrustworthyUrl, 'must be an https address, or http on loopback')

const jwt = fromEnv({
  issuer: variable('AUTH_JWT_ISSUER', trustworthyUrl.optional()),
  audience: variable('AUTH_JWT_AUDIENCE', z.string().optional()),
  jwksUrl: variable('AUTH_JWKS_URL', trustworthyUrl.optional()),
  roleClaim: variable('AUTH_ROLE_CLAIM', z.string().default('role')),
}).transform(({ issuer, audience, jwksUrl, ...claims }, context): JwtConfig | undefined => {
  if (issuer === undefined) {
    if (audience !== undefined) context.addIssue('AUTH_JWT_AUDIENCE needs AUTH_JWT_ISSUER')
    if (jwksUrl !== undefined) context.addIssue('AUTH_JWKS_URL needs AUTH_JWT_ISSUER')
    return undefined
  }
  if (audience !== undefined) return { issuer, audience, jwksUrl, ...claims }
  context.addIssue('AUTH_JWT_ISSUER needs AUTH_JWT_AUDIENCE: tokens for other services must not be accepted')
  return z.NEVER
})

const origin = z
  .string()
  .refine(
    (text) => /^https?:/.test(text) && URL.parse(text)?.origin === text,
    shown('must be comma-separated origins without a path, such as https://app.example.com'),
  )

const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, shown('must be comma-separated variable names'))

const proxyNetwork = parsed(parseIpNetwork, 'must be comma-separated addresses or networks, such as 10.0.0.0/8')

const databaseUrl = z
  .string()
  .refine(
    (text) => /^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? ''),
    'must be postgres://user:password@host:port/database',
  )

const trueOrFalse = oneOf('true', 'false')
  .default('false')
  .transform((word) => word === 'true')

const traces = fromEnv({
  endpoint: variable(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    z.string().refine(isPlainHttpUrl, 'must be an http or https address').optional(),
  ),
  serviceName: variable('OTEL_SERVICE_NAME', z.string().min(1).default('lockhouse')),
}).transform(({ endpoint, serviceName }) => (endpoint === undefined ? undefined : { endpoint, serviceName }))

const openLineage = fromEnv({
  url: variable(
    'OPENLINEAGE_URL',
    z.string().refine(isPlainHttpUrl, 'must be an http or https address without credentials and query').optional(),
  ),
  apiKey: variable(
    'OPENLINEAGE_API_KEY',
    z
      .string()
      .regex(/^[!-~]{1,2048}$/, 'must be printable characters without spaces')
      .optional(),
  ),
  namespace: variable('OPENLINEAGE_NAMESPACE', z.string().min(1).max(200).default('lockhouse')),
}).transform(({ url, ...names }) => (url === undefined ? undefined : { url, ...names }))

const price = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,9})?$/, shown('must be a price such as 0.023'))
  .transform(Number)
  .optional()

const prices = fromEnv({
  currency: variable(
    'COST_CURRENCY',
    z
      .string()
      .regex(/^[A-Z]{3}$/, shown('must be a currency code such as EUR'))
      .default('USD'),
  ),
  perGbMonth: variable('COST_PER_GB_MONTH', price),
  perThousandRequests: variable('COST_PER_1000_REQUESTS', price),
})

const spark = fromEnv({
  remote: variable(
    'SPARK_REMOTE',
    z.string().startsWith('sc://', 'must be sc://host:15002, with ;token=… if needed').optional(),
  ),
  catalogName: variable('SPARK_CATALOG', z.string().optional()),
  pipelines: variable('SPARK_PIPELINES', oneOf('0', '1').optional()),
}).transform(({ remote, catalogName, pipelines }, context): SparkConfig | undefined => {
  if (remote !== undefined) return { remote, catalogName, runsPipelines: pipelines !== '0' }
  if (pipelines !== undefined) context.addIssue('SPARK_PIPELINES needs SPARK_REMOTE')
  if (catalogName !== undefined) context.addIssue('SPARK_CATALOG needs SPARK_REMOTE')
  return undefined
})

const basePath = z
  .string()
  .transform((text) => text.replace(/\/$/, ''))
  .pipe(z.string().regex(/^(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/, shown('must be a path such as /lake')))

/** Schema that turns the environment into the configuration. */
const configuration = fromEnv({
  port: variable('PORT', wholeNumber(0, 65_535).default(3000)),
  host: variable('HOST', z.string().default('127.0.0.1')),
  basePath: variable('BASE_PATH', basePath.default('')),
  home: variable('LOCKHOUSE_HOME', z.string().default('./data')),
  adminToken: variable('LOCKHOUSE_ADMIN_TOKEN', token.optional()),
  authMode: variable('AUTH_MODE', oneOf('token', 'off').default('token')),
  jwt,
  oidc: oidcSettings,
  claims: claimSettings,
  frontendDir: variable('FRONTEND_DIR', z.string().optional()),
  allowedOrigins: variable('ALLOWED_ORIGINS', listOf(origin).default(['http://localhost:5173'])),
  configEnvAllow: variable('CONFIG_ENV_ALLOW', looseListOf(variableName)),
  trustedProxies: variable('TRUSTED_PROXIES', looseListOf(proxyNetwork)),
  logLevel: variable('LOG_LEVEL', oneOf(...LOG_LEVELS).default('info')),
  engine: fromEnv({
    memoryLimitBytes: variable(
      'ENGINE_MEMORY_LIMIT',
      parsed(memorySize, 'must be a size of at least 64MiB such as 512MB or 2GiB').default(DEFAULT_MEMORY_BYTES),
    ),
    threads: variable('ENGINE_THREADS', wholeNumber(1, 1024).optional()),
    embeddedMaxBytes: variable(
      'ENGINE_EMBEDDED_MAX_BYTES',
      parsed(byteSize, 'must be a size such as 512MB or 64GiB').default(DEFAULT_EMBEDDED_BYTES),
    ),
  }),
  spark,
  demo: variable(
    'LOCKHOUSE_DEMO',
    oneOf('0', '1')
      .default('0')
      .transform((word) => word === '1'),
  ),
  quarantineDays: variable('QUARANTINE_DAYS', wholeNumber(0, 3650).default(7)),
  databaseUrl: variable('DATABASE_URL', databaseUrl.optional()),
  auditKey: variable('AUDIT_KEY', z.string().min(32, 'must have at least 32 characters').optional()),
  metricsToken: variable('METRICS_TOKEN', token.optional()),
  prices,
  traces,
  openLineage,
  webhookAllowPrivate: variable('WEBHOOK_ALLOW_PRIVATE', trueOrFalse),
  mail: mailSettings,
  approvalsForbidSelf: variable('APPROVALS_FORBID_SELF', trueOrFalse),
  agent: agentSettings,
  notebooks: notebookSettings,
}).superRefine(({ authMode, host, notebooks, oidc }, context) => {
  if (authMode !== 'off') return
  if (oidc !== undefined) context.addIssue('AUTH_OIDC_ISSUER has no effect with AUTH_MODE=off: remove one of them')
  if (notebooks.hostTemplate !== undefined) {
    context.addIssue('NOTEBOOK_HOST_TEMPLATE isolates users from each other, but AUTH_MODE=off has no users')
  }
  if (notebooks.isolation === 'path') {
    context.addIssue(
      'NOTEBOOK_ISOLATION=path needs authentication: with AUTH_MODE=off, notebook pages could call the API',
    )
  }
  if (!LOOPBACK.includes(host)) {
    context.addIssue(`AUTH_MODE=off is allowed on loopback only, but HOST is ${host}`)
  }
}) satisfies z.ZodType<Config>

/** Parses the environment into a configuration. Throws {@link ConfigError} on invalid or contradictory values. */
export function parseConfig(env: Env): Config {
  const result = configuration.safeParse(env, { jitless: true }) // to compile the schema takes longer than to use it once
  if (result.success) return result.data
  throw new ConfigError(result.error.issues[0]?.message ?? 'the environment is not valid')
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

function byteSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([KMGT]?I?B)$/i.exec(text.trim())
  const unit = match ? UNITS[(match[2] ?? '').toUpperCase()] : undefined
  return match && unit ? Math.floor(Number(match[1]) * unit) : undefined
}

function memorySize(text: string): number | undefined {
  const bytes = byteSize(text)
  return bytes !== undefined && bytes >= MIN_MEMORY_BYTES ? bytes : undefined
}
