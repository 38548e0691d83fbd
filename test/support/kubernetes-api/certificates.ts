import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** A key and its certificate, as PEM. */
export interface Credential {
  readonly key: string
  readonly certificate: string
}

/** An authority of its own, made for one test. */
export interface Authority {
  readonly certificate: string
  /** A certificate for a server at 127.0.0.1. */
  issueServer(): Credential
  /** A certificate for a client, as Kubernetes reads it: the common name is the user. */
  issueClient(user: string): Credential
}

const DAY_MS = 86_400_000
const OID = {
  ecPublicKey: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02], // ecdsa-with-SHA256
  commonName: [0x55, 0x04, 0x03],
  basicConstraints: [0x55, 0x1d, 0x13],
  keyUsage: [0x55, 0x1d, 0x0f],
  extendedKeyUsage: [0x55, 0x1d, 0x25],
  subjectAltName: [0x55, 0x1d, 0x11],
  serverAuth: [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01],
  clientAuth: [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02],
}

/** Makes an authority with an EC key (X.509, RFC 5280). */
export function createAuthority(name = 'test authority'): Authority {
  const root = newKey()
  const usage = extension(OID.keyUsage, der(0x03, [0x01, 0x06]), true) // sign certificates and CRLs
  const isAuthority = extension(OID.basicConstraints, sequence(der(0x01, [0xff])), true)
  const certificate = makeCertificate({
    subject: name,
    issuer: name,
    of: root,
    by: root,
    extensions: [isAuthority, usage],
  })
  const issue = (subject: string, extensions: readonly Buffer[]): Credential => {
    const own = newKey()
    return {
      key: own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      certificate: makeCertificate({ subject, issuer: name, of: own, by: root, extensions }),
    }
  }
  return {
    certificate,
    issueServer: () =>
      issue('127.0.0.1', [
        extension(OID.extendedKeyUsage, sequence(der(0x06, OID.serverAuth))),
        extension(OID.subjectAltName, sequence(der(0x87, [127, 0, 0, 1]), der(0x82, Buffer.from('localhost')))),
      ]),
    issueClient: (user) => issue(user, [extension(OID.extendedKeyUsage, sequence(der(0x06, OID.clientAuth)))]),
  }
}

interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

function newKey(): KeyPair {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

interface CertificateParts {
  readonly subject: string
  readonly issuer: string
  readonly of: KeyPair
  readonly by: KeyPair
  readonly extensions: readonly Buffer[]
}

function makeCertificate({ subject, issuer, of, by, extensions }: CertificateParts): string {
  const algorithm = sequence(der(0x06, OID.ecPublicKey))
  const content = sequence(
    der(0xa0, integer(Buffer.from([2]))), // version 3
    integer(Buffer.concat([Buffer.from([1]), randomBytes(12)])),
    algorithm,
    distinguishedName(issuer),
    sequence(time(Date.now() - DAY_MS), time(Date.now() + DAY_MS)),
    distinguishedName(subject),
    of.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', content, by.privateKey)
  const whole = sequence(content, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])))
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(der(0x06, OID.commonName), der(0x0c, Buffer.from(commonName)))))
}

function extension(id: readonly number[], value: Buffer, critical = false): Buffer {
  return sequence(der(0x06, id), ...(critical ? [der(0x01, [0xff])] : []), der(0x04, value))
}

function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)
  return der(0x17, Buffer.from(`${text}Z`))
}

function integer(value: Buffer): Buffer {
  return der(0x02, value)
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

/** One value of DER (X.690): tag, length, content. */
function der(tag: number, content: Buffer | readonly number[]): Buffer {
  const bytes = Buffer.from(content)
  const { length } = bytes
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), bytes])
}
