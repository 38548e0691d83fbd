// The specification's rules for definitions, versions and approvals, implemented again without a database.

export type Role = 'Auditor' | 'DataEngineer' | 'LeadDataEngineer'
export type Move = 'promote' | 'demote' | 'retire'

export interface Caller {
  readonly user: string
  readonly role: Role
}

export interface Graph {
  readonly name: string
  readonly good: boolean
  readonly nodes: readonly object[]
  readonly edges: readonly object[]
}

export interface ModelVersion {
  readonly id: string
  readonly definitionId: string
  readonly version: number
  environment: string
  readonly graph: Graph
}

export interface ModelRequest {
  readonly id: string
  readonly definitionId: string
  readonly versionId: string
  readonly from: string
  readonly to: string
  readonly requestedBy: string
  status: string
  decidedBy: string | null
  reason: string | null
  readonly comments: string[]
  /** As stored in the database at the time of the request. */
  snapshot: string | undefined
}

export interface ModelDefinition {
  readonly id: string
  name: string
}

const ROLES: readonly Role[] = ['Auditor', 'DataEngineer', 'LeadDataEngineer']

/** docs/api.md#environments: from, move → target, and whether it needs an approval. */
const MOVES: Readonly<Record<string, readonly [to: string, approval: boolean]>> = {
  'development promote': ['qa', false],
  'qa promote': ['uat', true],
  'uat promote': ['production', true],
  'uat demote': ['qa', false],
  'production retire': ['retired', false],
}

/** All transitions of a version that may be seen between two reads of it. */
export const LEGAL_EDGES: ReadonlySet<string> = new Set([
  'development qa',
  'qa uat',
  'uat production',
  'uat qa',
  'production retired',
])

/** The expected answer; `code` only for refusals. */
export interface Expected {
  readonly status: number
  readonly code?: string
}

export const refuse = (status: number, code: string): Expected => ({ status, code })

/** The expected state by id. Deleted objects are kept as deleted. */
export class LifecycleModel {
  readonly forbidSelf: boolean
  readonly definitions = new Map<string, ModelDefinition>()
  readonly versions = new Map<string, ModelVersion>()
  readonly requests = new Map<string, ModelRequest>()
  /** All created ids in order, also of deleted objects. */
  readonly given = { definitions: [] as string[], versions: [] as [string, string][], requests: [] as string[] }

  constructor(forbidSelf: boolean) {
    this.forbidSelf = forbidSelf
  }

  mayCall({ role }: Caller, minimum: Role): boolean {
    return ROLES.indexOf(role) >= ROLES.indexOf(minimum)
  }

  versionsOf(definitionId: string): ModelVersion[] {
    return [...this.versions.values()].filter((version) => version.definitionId === definitionId)
  }

  pendingOf(versionId: string): ModelRequest | undefined {
    return [...this.requests.values()].find(
      (request) => request.versionId === versionId && request.status === 'pending',
    )
  }

  isLocked(definitionId: string): boolean {
    return this.versionsOf(definitionId).some(({ environment }) =>
      ['uat', 'production', 'retired'].includes(environment),
    )
  }

  step(from: string, move: Move): readonly [to: string, approval: boolean] | undefined {
    return MOVES[`${from} ${move}`]
  }

  addDefinition(id: string, name: string): void {
    this.definitions.set(id, { id, name })
    this.given.definitions.push(id)
  }

  addVersion(version: ModelVersion): void {
    this.versions.set(version.id, version)
    this.given.versions.push([version.definitionId, version.id])
  }

  addRequest(request: ModelRequest): void {
    this.requests.set(request.id, request)
    this.given.requests.push(request.id)
  }

  deleteDefinition(id: string): void {
    this.definitions.delete(id)
    for (const version of this.versionsOf(id)) this.versions.delete(version.id)
    for (const request of this.requests.values()) if (request.definitionId === id) this.requests.delete(request.id)
  }
}
