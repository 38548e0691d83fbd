import type { SetCatalogConfigRequest } from '../../../api/types.ts'
import { catalogStrings as strings } from '../../../strings/settings.ts'
import { addCatalog, changeCatalog, type SavedConfig, setConfig } from '../api.ts'
import type { ConfirmWords } from './confirm.tsx'

/** What the form of a catalog is for: the default catalog, another one, or one that does not exist yet. */
export type EditedCatalog = 'default' | 'other' | 'new'

interface Edited {
  readonly isNew: boolean
  readonly send: (body: SetCatalogConfigRequest, tag: string | null) => Promise<SavedConfig>
  readonly nameHelp: string
  readonly words: (name: string) => ConfirmWords
  /** The notification after a success. */
  readonly said: string
  /** The title of a refusal. */
  readonly failed: string
}

const { confirm, confirmOther } = strings

const ofDefault = (): ConfirmWords => ({
  title: confirm.title,
  consequences: [confirm.text, ...confirm.consequences],
  action: confirm.action,
})

const ofOther = (name: string): ConfirmWords => ({
  title: confirmOther.title(name),
  consequences: confirmOther.consequences(name),
  action: confirmOther.action,
})

/** How each kind of catalog is saved, and the words for it. */
export const EDITED: Readonly<Record<EditedCatalog, Edited>> = {
  default: {
    isNew: false,
    send: setConfig,
    nameHelp: strings.nameHelp,
    words: ofDefault,
    said: strings.saved,
    failed: strings.failedTitle,
  },
  other: {
    isNew: false,
    send: changeCatalog,
    nameHelp: strings.nameHelpOther,
    words: ofOther,
    said: strings.savedOther,
    failed: strings.failedOther,
  },
  new: {
    isNew: true,
    send: (body) => addCatalog(body),
    nameHelp: strings.nameHelpNew,
    words: ofOther,
    said: strings.savedNew,
    failed: strings.failedNew,
  },
}
