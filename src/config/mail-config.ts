import { z } from 'zod'
import { fromEnv, variable } from './variables.ts'

/** The mail server of this installation; undefined parts are not used. */
export interface MailConfig {
  readonly host: string
  readonly port: number
  readonly tls: 'implicit' | 'required' | 'none'
  readonly user: string | undefined
  readonly password: string | undefined
  readonly from: string
}

const SMTPS_PORT = 465
const SUBMISSION_PORT = 587
const LOOPBACK = ['127.0.0.1', '::1', 'localhost']

const smtpUrl = z
  .string()
  .refine((text) => /^smtps?:$/.test(URL.parse(text)?.protocol ?? '') && URL.parse(text)?.hostname !== '', {
    error: 'must be smtp://user:password@host:port or smtps://…',
  })
  .refine((text) => isDecodable(URL.parse(text)), { error: 'has a % that begins no escaped character' })
  .refine((text) => ['', '?tls=none'].includes(URL.parse(text)?.search ?? ''), {
    error: 'knows no other option than ?tls=none',
  })

function isDecodable(url: URL | null): boolean {
  try {
    decodeURIComponent(`${url?.username}${url?.password}`)
    return true
  } catch {
    return false
  }
}

const smtpFrom = z.string().regex(/^([^\r\n<>@]+<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/, {
  error: 'must be an address such as lockhouse@example.com or Lockhouse <lockhouse@example.com>',
})

/** Reads `SMTP_URL` and `SMTP_FROM`; undefined when no mail is sent. */
export const mailSettings = fromEnv({
  url: variable('SMTP_URL', smtpUrl.optional()),
  from: variable('SMTP_FROM', smtpFrom.optional()),
}).transform(({ url: text, from }, context): MailConfig | undefined => {
  if (text === undefined && from === undefined) return undefined
  if (text === undefined || from === undefined) {
    context.addIssue(text === undefined ? 'SMTP_FROM needs SMTP_URL' : 'SMTP_URL needs SMTP_FROM')
    return z.NEVER
  }
  const server = serverAt(new URL(text))
  if (server.tls === 'none' && server.password !== undefined && !LOOPBACK.includes(server.host)) {
    context.addIssue('SMTP_URL with tls=none would send its password unencrypted')
    return z.NEVER
  }
  return { ...server, from }
})

function serverAt(url: URL): Omit<MailConfig, 'from'> {
  const isImplicit = url.protocol === 'smtps:'
  const defaultPort = isImplicit ? SMTPS_PORT : SUBMISSION_PORT
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? defaultPort : Number(url.port),
    tls: isImplicit ? 'implicit' : url.search === '' ? 'required' : 'none',
    user: url.username === '' ? undefined : decodeURIComponent(url.username),
    password: url.password === '' ? undefined : decodeURIComponent(url.password),
  }
}
