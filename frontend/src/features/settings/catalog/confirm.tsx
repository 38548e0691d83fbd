import type { ActionState } from '../../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { catalogStrings } from '../../../strings/settings.ts'
import type { CatalogChange } from './form.ts'
import classes from '../settings.module.css'

const strings = catalogStrings.confirm

/** The words of a confirmation. */
export interface ConfirmWords {
  readonly title: string
  readonly consequences: readonly string[]
  readonly action: string
}

interface CatalogConfirmProps {
  readonly words: ConfirmWords
  readonly changes: readonly CatalogChange[]
  readonly opened: boolean
  readonly action: Pick<ActionState, 'isPending'>
  readonly onClose: () => void
  readonly onConfirm: () => void
}

/** Confirms a change of the catalog: its consequences, and each changed field. */
export function CatalogConfirm({ words, changes, action, ...dialog }: CatalogConfirmProps) {
  return (
    <ConfirmDialog
      {...dialog}
      action={{ isPending: action.isPending, error: null, reset: () => undefined }}
      title={words.title}
      consequences={words.consequences}
      confirmLabel={words.action}
      destructive
    >
      <table className={classes.changes}>
        <thead>
          <tr>
            <th scope="col">{strings.field}</th>
            <th scope="col">{strings.from}</th>
            <th scope="col">{strings.to}</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ field, from, to }) => (
            <tr key={field}>
              <th scope="row">{field}</th>
              <td>{from ?? strings.nothing}</td>
              <td>{to ?? strings.nothing}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ConfirmDialog>
  )
}
