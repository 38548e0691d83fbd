import {
  AnonymousCredential,
  ContainerClient,
  StorageSharedKeyCredential,
  type StoragePipelineOptions,
} from '@azure/storage-blob'
import { splitBucket } from './location.ts'

/** Who sends the requests to an account. Without any, the default chain of the Azure SDK is asked. */
export type AzureIdentity =
  | { readonly kind: 'key'; readonly account: string; readonly key: string }
  | { readonly kind: 'sas'; readonly token: string }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'secret'; readonly tenantId: string; readonly clientId: string; readonly clientSecret: string }
  | { readonly kind: 'default' }

/** How to reach the account of a location. */
export interface AzureAccount {
  /** `http(s)` address of the Blob service of the account, without a slash at its end. */
  readonly endpoint: string
  readonly identity: AzureIdentity
}

/** The accounts of a catalog. */
export interface AzureSettings {
  /** The account behind a host of the Blob service, such as `account.blob.core.windows.net`. */
  accountAt(host: string): AzureAccount
}

const OPTIONS: StoragePipelineOptions = {
  retryOptions: { maxTries: 1 }, // the caller decides what is sent again
  keepAliveOptions: { enable: true },
}

/** Clients of containers, made at first use. */
export class AzureClients {
  readonly #settings: AzureSettings
  readonly #containers = new Map<string, Promise<ContainerClient>>()

  constructor(settings: AzureSettings) {
    this.#settings = settings
  }

  /** The client of a bucket, `container@host`. */
  container(bucket: string): Promise<ContainerClient> {
    const known = this.#containers.get(bucket)
    if (known !== undefined) return known
    const { container, host } = splitBucket(bucket)
    const opened = openContainer(this.#settings.accountAt(host), container)
    this.#containers.set(bucket, opened)
    return opened
  }
}

async function openContainer({ endpoint, identity }: AzureAccount, container: string): Promise<ContainerClient> {
  const address = `${endpoint}/${container}`
  switch (identity.kind) {
    case 'key':
      return new ContainerClient(address, new StorageSharedKeyCredential(identity.account, identity.key), OPTIONS)
    case 'sas':
      return new ContainerClient(`${address}?${identity.token}`, new AnonymousCredential(), OPTIONS)
    case 'token': {
      const held = { token: identity.token, expiresOnTimestamp: Number.MAX_SAFE_INTEGER }
      return new ContainerClient(address, { getToken: async () => held }, OPTIONS)
    }
    case 'secret': {
      const { ClientSecretCredential } = await import('@azure/identity') // large: loaded only when needed
      const { tenantId, clientId, clientSecret } = identity
      return new ContainerClient(address, new ClientSecretCredential(tenantId, clientId, clientSecret), OPTIONS)
    }
    case 'default': {
      const { DefaultAzureCredential } = await import('@azure/identity')
      return new ContainerClient(address, new DefaultAzureCredential(), OPTIONS)
    }
  }
}
