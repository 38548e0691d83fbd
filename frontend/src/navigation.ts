import type { ComponentType } from 'react'
import type { Role } from './api/types.ts'

/** A navigation entry; each feature exports its own with its routes. */
export interface NavEntry {
  /** Target path; the entry is highlighted on every path below it. */
  readonly to: string
  /** More paths below which the entry is highlighted. */
  readonly also?: readonly string[]
  readonly label: string
  readonly icon: ComponentType
  readonly section: 'lakehouse' | 'pipelines' | 'service'
  /** The minimum role; default: every role. */
  readonly minRole?: Role
  /** A hook that decides whether the entry is shown; default: always. */
  readonly useShown?: () => boolean
  /** A hook that returns the number in the badge; 0 and undefined show no badge. */
  readonly useBadge?: () => NavBadge | undefined
  /** Whether the entry is also in the top bar of phones. */
  readonly inBar?: boolean
}

export interface NavBadge {
  readonly count: number
  /** Label for screen readers, such as `3 pending approvals`. */
  readonly label: string
}

/**
 * Something that the quick search offers besides pages. A command opens a page or a dialog, or changes how this browser shows the
 * page. No command changes anything on the server by itself.
 */
export type Command = CommandLook & (GoCommand | SearchCommand | RunCommand)

interface CommandLook {
  readonly id: string
  readonly label: string
  /** The object of the command, such as the table that is open. */
  readonly about?: string
  /** Other words by which the search finds the command. */
  readonly also?: string
  readonly icon: ComponentType
}

interface GoCommand {
  /** The address that the command opens. */
  readonly to: string
}

interface SearchCommand {
  /** Parameters that the command sets in the current address; an empty one is removed. */
  readonly search: Readonly<Record<string, string>>
}

interface RunCommand {
  readonly run: () => void
}

/** A hook that returns the commands of a feature for the text of the quick search. Commands about the open object come first. */
export type CommandSource = (text: string) => CommandList

export interface CommandList {
  /** Commands about the object that the page shows. */
  readonly here: readonly Command[]
  /** Commands that are available on every page. */
  readonly anywhere: readonly Command[]
}
