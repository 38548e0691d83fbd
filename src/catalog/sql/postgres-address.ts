import { IcebergError } from '../../iceberg/errors.ts'

/** The address and connection settings of a PostgreSQL server. */
export interface PostgresAddress {
  /** Name, IP address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  readonly password: string
  /** Undefined: not encrypted. */
  readonly tls: PostgresTls | undefined
  /** Command-line options for the session, such as `-c search_path=lake`. */
  readonly options: string | undefined
  readonly applicationName: string
  readonly connectTimeoutMs: number
  /** Connection timeout; the statement timeout of the server is half of it. */
  readonly answerTimeoutMs: number
  readonly maxConnections: number
}

/** How the server's certificate is verified, and PEM files. */
export interface PostgresTls {
  /** `ca`: the issuer; `full`: also the host name. */
  readonly verify: 'none' | 'ca' | 'full'
  /** Default: the certificate authorities that the runtime trusts. */
  readonly rootCertificate: string | undefined
  readonly certificate: string | undefined
  readonly key: string | undefined
}

/** Settings from the extra properties, in addition to the address. */
export interface PostgresProperties {
  readonly password: string | undefined
  /** Max connections, named as in Java's JdbcCatalog. */
  readonly clients: string | undefined
}

const SCHEME = /^(?:jdbc:)?postgres(?:ql)?(?:\+\w+)?:(?=\/\/)/
const DEFAULT_PORT = 5432
const DEFAULT_CLIENTS = 10
const MOST_CLIENTS = 1000
const CONNECT_TIMEOUT_S = 10
const ANSWER_TIMEOUT_S = 30
const LONGEST_TIMEOUT_S = 3600

/** Parameters of libpq, and of the JDBC driver where libpq has none. */
const PARAMETERS: ReadonlySet<string> = new Set([
  'user',
  'host',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'options',
  'currentSchema',
  'application_name',
  'connect_timeout',
  'socketTimeout',
])

/** Whether a URI names a PostgreSQL server, as libpq, SQLAlchemy or JDBC write it. */
export function isPostgresUri(uri: string): boolean {
  return SCHEME.test(uri)
}

/**
 * The server of `postgresql://user:password@host:port/database?parameters`, read as libpq reads it (PostgreSQL
 * documentation, section 34.1.1.2); `postgresql+psycopg2:` and `jdbc:postgresql:` are accepted, too. Throws
 * `INVALID_ARGUMENT` without any part of the address.
 */
export function parsePostgresUri(uri: string, properties: PostgresProperties): PostgresAddress {
  const url = URL.parse(uri.replace(SCHEME, 'postgresql:'))
  if (url === null)
    throw invalid('is not a valid address; write characters such as / and @ in a password as %2F and %40')
  const parameters = readParameters(url)
  const written = decoded(url.password)
  if (written !== '' && properties.password !== undefined) {
    throw invalid('and extra_props.password both have a password: remove one')
  }
  return {
    host: required(parameters.get('host') ?? decoded(url.hostname.replace(/^\[(.*)\]$/, '$1')), 'host'),
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    database: required(decoded(url.pathname.slice(1)), 'database'),
    user: required(parameters.get('user') ?? decoded(url.username), 'user'),
    password: properties.password ?? written,
    tls: readTls(parameters),
    options: sessionOptions(parameters),
    applicationName: parameters.get('application_name') ?? 'lockhouse',
    connectTimeoutMs: seconds(parameters, 'connect_timeout', CONNECT_TIMEOUT_S) * 1000,
    answerTimeoutMs: seconds(parameters, 'socketTimeout', ANSWER_TIMEOUT_S) * 1000,
    maxConnections: readClients(properties.clients),
  }
}

function readParameters({ searchParams }: URL): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (const [name, value] of searchParams) {
    if (name === 'password') throw invalid('must not have a password as a parameter: use extra_props.password')
    if (!PARAMETERS.has(name)) {
      throw invalid(
        `has the unknown parameter ${JSON.stringify(name.slice(0, 80))}; known: ${[...PARAMETERS].join(', ')}`,
      )
    }
    if (parameters.has(name)) throw invalid(`has ${name} twice`)
    parameters.set(name, value)
  }
  return parameters
}

/** `sslmode` as in libpq; without it, the connection is not encrypted. */
function readTls(parameters: ReadonlyMap<string, string>): PostgresTls | undefined {
  const rootCertificate = parameters.get('sslrootcert')
  const files = { rootCertificate, certificate: parameters.get('sslcert'), key: parameters.get('sslkey') }
  switch (parameters.get('sslmode')) {
    case undefined:
    case 'disable':
      if (Object.values(files).some((file) => file !== undefined)) throw invalid('has certificates but no sslmode')
      return undefined
    case 'require':
      return { verify: rootCertificate === undefined ? 'none' : 'ca', ...files }
    case 'verify-ca':
      if (rootCertificate === undefined) throw invalid('needs sslrootcert for sslmode=verify-ca')
      return { verify: 'ca', ...files }
    case 'verify-full':
      return { verify: 'full', ...files }
    default:
      throw invalid('must have sslmode=disable, require, verify-ca or verify-full')
  }
}

function sessionOptions(parameters: ReadonlyMap<string, string>): string | undefined {
  const schema = parameters.get('currentSchema')
  const given = [parameters.get('options'), schema && `-c search_path=${schema.replaceAll(/[\\\s]/g, '\\$&')}`]
  return given.filter((option) => option !== undefined).join(' ') || undefined
}

function seconds(parameters: ReadonlyMap<string, string>, name: string, standard: number): number {
  return (
    wholeNumber(parameters.get(name) ?? String(standard), LONGEST_TIMEOUT_S) ??
    outOfRange(`uri: ${name}`, LONGEST_TIMEOUT_S)
  )
}

function readClients(text: string | undefined): number {
  return wholeNumber(text ?? String(DEFAULT_CLIENTS), MOST_CLIENTS) ?? outOfRange('extra_props.clients', MOST_CLIENTS)
}

function wholeNumber(text: string, most: number): number | undefined {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : 0
  return value >= 1 && value <= most ? value : undefined
}

function outOfRange(what: string, most: number): never {
  throw new IcebergError('INVALID_ARGUMENT', `${what} must be a whole number from 1 to ${most}`)
}

function required(value: string, what: string): string {
  if (value === '') throw invalid(`has no ${what}: write postgresql://user@host:port/database`)
  if (what === 'host' && value.includes(',')) throw invalid('names several hosts; one is supported')
  return value
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid('has a % that is not part of an escape: write it as %25')
  }
}

function invalid(why: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `uri of a sql catalog ${why}`)
}
