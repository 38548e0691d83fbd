import type { FieldError } from '../../../domain/errors.ts'
import type { Call } from '../../command.ts'

/** What a document may describe, in the order in which changes are made. */
export const KIND_NAMES = ['Environment', 'Policy', 'PipelineDefinition', 'Alert'] as const

export type KindName = (typeof KIND_NAMES)[number]

/** Settings of an object as plain JSON. */
export type Settings = Readonly<Record<string, unknown>>

/** What a valid document describes. */
export interface Described {
  readonly name: string
  /** With defaults, to compare with the service. */
  readonly settings: Settings
}

/** A {@link Described} object, or the fields that are wrong. */
export type CheckedDocument =
  | { readonly success: true; readonly described: Described }
  | { readonly success: false; readonly errors: readonly FieldError[] }

/** An object of the service as it is now. */
export interface ObjectState {
  readonly settings: Settings
  /** The value for `If-Match`. */
  readonly tag: string
  /** Why the service would refuse a deletion; undefined: it would not, as far as is known. */
  readonly deletionLock?: string | undefined
  /** The same for a change of the fields that the lock is about. */
  readonly changeLock?: ((settings: Settings) => string | undefined) | undefined
}

/** An object of the service in a list. */
export interface Existing {
  readonly id: string
  readonly name: string
  readonly managedBy: string | null
  /** Whether nobody ever changed it, so that an owner may take it without adopting. */
  readonly isUntouched: boolean
  readonly read: () => Promise<ObjectState>
}

/** For whom changes are made. */
export interface Ownership {
  readonly owner: string
  /** Whether the object is taken over from whoever has it. */
  readonly adopts: boolean
}

/** An update of an object from one state to another. */
export interface Update extends Ownership {
  readonly id: string
  readonly from: ObjectState
  readonly to: Described
}

/** What people have to know of a change that was made, and are never told again. */
export type Notice = string | undefined

/** How objects of a kind are described, read and changed. */
export interface Kind {
  readonly kind: KindName
  readonly check: (document: Settings) => CheckedDocument
  readonly list: (call: Call) => Promise<readonly Existing[]>
  /** The part of the stored settings that a description speaks about. Default: all. */
  readonly shared?: (stored: Settings, described: Settings) => Settings
  readonly create: (call: Call, described: Described, owner: string) => Promise<Notice>
  readonly update: (call: Call, update: Update) => Promise<Notice>
  /** What becomes of an object that its files do not describe any more. */
  readonly removal: 'delete' | 'release'
  readonly remove: (call: Call, removed: Omit<Update, 'to' | 'adopts'>) => Promise<Notice>
}
