import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AwsAccounts, checkSignature } from './sigv4.ts'

/** A role that the fake token service knows. */
export interface FakeRole {
  readonly arn: string
  readonly externalId?: string
  readonly lifeMs: number
}

/** A security token service over a real socket: `AssumeRole`, signed, and `AssumeRoleWithWebIdentity`. */
export class FakeSts {
  /** The parameters of every request. */
  readonly requests: URLSearchParams[] = []
  role: FakeRole
  /** The web identity that may assume the role. */
  webIdentity: string | undefined
  /** Answers every request with status 403. */
  isDenying = false
  readonly #accounts: AwsAccounts
  readonly #server: Server

  private constructor(accounts: AwsAccounts, role: FakeRole) {
    this.#accounts = accounts
    this.role = role
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  static async start(accounts: AwsAccounts, role: FakeRole): Promise<FakeSts> {
    const service = new FakeSts(accounts, role)
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve))
    return service
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url = '', headers } = request
    const { status, xml } = this.#answer({ method, url, headers, body: Buffer.concat(chunks) })
    response.writeHead(status, { 'Content-Type': 'text/xml' }).end(xml)
  }

  #answer(request: Parameters<typeof checkSignature>[0]): { readonly status: number; readonly xml: string } {
    const form = new URLSearchParams(request.body.toString())
    this.requests.push(form)
    const action = form.get('Action') ?? ''
    const { arn, externalId, lifeMs } = this.role
    const isWeb = action === 'AssumeRoleWithWebIdentity'
    const signer = isWeb
      ? undefined
      : checkSignature(request, { accounts: this.#accounts, service: 'sts', nowMs: Date.now() })
    if (signer !== undefined && 'code' in signer) return refusal(signer.code)
    const isKnown = isWeb
      ? form.get('WebIdentityToken') === this.webIdentity
      : form.get('ExternalId') === (externalId ?? null)
    if (this.isDenying || form.get('RoleArn') !== arn || !isKnown) return refusal('AccessDenied')
    const { accessKeyId, secretAccessKey, sessionToken, expiresAtMs } = this.#accounts.issue({ lifeMs })
    const credentials =
      `<Credentials><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey>` +
      `<SessionToken>${sessionToken}</SessionToken>` +
      `<Expiration>${new Date(expiresAtMs ?? 0).toISOString()}</Expiration></Credentials>`
    return {
      status: 200,
      xml: `<${action}Response><${action}Result>${credentials}</${action}Result></${action}Response>`,
    }
  }
}

function refusal(code: string) {
  const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${code} of the fake service</Message></Error>`
  return { status: 403, xml: `<ErrorResponse>${error}</ErrorResponse>` }
}
