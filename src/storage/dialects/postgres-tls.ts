import { readFile } from 'node:fs/promises'
import { checkServerIdentity, type ConnectionOptions } from 'node:tls'

import type { PostgresTls } from '../../catalog/sql/postgres-address.ts'
import { DatabaseError } from '../database-error.ts'

/** How a connection to `host` is encrypted. Throws `DatabaseError` when a file cannot be read. */
export async function tlsOptions(tls: PostgresTls, host: string): Promise<ConnectionOptions> {
  const { verify } = tls
  const [ca, cert, key] = await Promise.all([
    pem(tls.rootCertificate, 'sslrootcert'),
    pem(tls.certificate, 'sslcert'),
    pem(tls.key, 'sslkey'),
  ])
  return {
    rejectUnauthorized: verify !== 'none',
    // The driver passes no host name for an IP address, and then any certificate for "localhost" would be accepted.
    checkServerIdentity: (_host, certificate) =>
      verify === 'full' ? checkServerIdentity(host, certificate) : undefined,
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
  }
}

async function pem(path: string | undefined, parameter: string): Promise<string | undefined> {
  if (path === undefined) return undefined
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new DatabaseError('CANNOT_OPEN', `The file of ${parameter} cannot be read`, { cause, refused: true })
  }
}
