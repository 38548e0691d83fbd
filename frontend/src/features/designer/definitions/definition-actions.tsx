import { ActionIcon, Modal, Stack, Text, Tooltip } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import type { Environment } from '../../../../../src/domain/environments.ts'
import type { BoardRow } from '../../../api/types.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { EditIcon, TrashIcon } from '../../../components/icons.tsx'
import { formatPlural } from '../../../strings/everywhere/units.ts'
import { definitionPageStrings as words, definitionStrings } from '../../../strings/pipelines/designer.ts'
import { inWords } from '../../../strings/environments.ts'
import { useDialog } from '../../../use-dialog.ts'
import { deleteDefinition, RenamedMeanwhile, renameDefinition, type Renaming } from '../api.ts'
import { lockingEnvironments } from '../board.ts'
import { DefinitionFormDialog } from './definition-form-dialog.tsx'

const DIALOGS = ['edit', 'remove'] as const

interface ActionsProps {
  readonly row: BoardRow
  readonly versionCount: number
}

/** Rename and delete; if the environments do not allow it, the reason. */
export function DefinitionActions({ row, versionCount }: ActionsProps) {
  const [opened, setOpened] = useDialog(DIALOGS)
  const locks = lockingEnvironments(row.environments)
  const close = (): void => setOpened(undefined)
  return (
    <>
      <Tooltip label={words.edit}>
        <ActionIcon variant="default" size={30} aria-label={words.edit} onClick={() => setOpened('edit')}>
          <EditIcon />
        </ActionIcon>
      </Tooltip>
      <Tooltip label={words.remove}>
        <ActionIcon variant="default" size={30} aria-label={words.remove} onClick={() => setOpened('remove')}>
          <TrashIcon />
        </ActionIcon>
      </Tooltip>
      {locks.length > 0 ? (
        <LockedDialog what={opened} locks={locks} onClose={close} />
      ) : (
        <>
          <EditDialog row={row} opened={opened === 'edit'} onClose={close} />
          <RemoveDialog row={row} versionCount={versionCount} opened={opened === 'remove'} onClose={close} />
        </>
      )}
    </>
  )
}

interface LockedProps {
  readonly what: 'edit' | 'remove' | undefined
  readonly locks: readonly Environment[]
  readonly onClose: () => void
}

function LockedDialog({ what, locks, onClose }: LockedProps) {
  const places = locks.map(inWords).join(', ')
  const isFinal = locks.some((one) => one !== 'uat')
  return (
    <Modal
      opened={what !== undefined}
      onClose={onClose}
      title={what === 'remove' ? words.lockedDeleteTitle : words.lockedTitle}
    >
      <Stack gap="xs">
        <Text size="sm">{what === 'remove' ? words.lockedDelete(places) : words.locked(places)}</Text>
        <Text size="sm">{isFinal ? words.lockedWay.final : words.lockedWay.uat}</Text>
      </Stack>
    </Modal>
  )
}

interface DialogProps {
  readonly row: BoardRow
  readonly opened: boolean
  readonly onClose: () => void
}

function EditDialog({ row, opened, onClose }: DialogProps) {
  const rename = useAction({
    send: (renaming: Renaming) => renameDefinition(row.id, renaming),
    changes: ['definitions'],
    said: words.saved,
    onDone: () => close(),
  })
  const { error } = rename
  const close = (): void => {
    rename.reset()
    onClose()
  }
  return (
    <DefinitionFormDialog
      opened={opened}
      onClose={close}
      title={definitionStrings.form.editTitle}
      submit={definitionStrings.form.save}
      initial={{ name: row.name, description: row.description }}
      action={rename}
      onSubmit={(given, initial) => {
        rename.mutate({ seen: error instanceof RenamedMeanwhile ? error.now : initial, given })
      }}
    />
  )
}

function RemoveDialog({ row, versionCount, opened, onClose }: DialogProps & { readonly versionCount: number }) {
  const navigate = useNavigate()
  const remove = useAction({
    send: () => deleteDefinition(row.id),
    changes: [['definitions', 'pages']],
    said: words.removed,
    onDone: () => navigate({ to: '/definitions', ignoreBlocker: true }),
  })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={words.removeTitle(row.name)}
      consequences={words.removeConsequences(formatPlural(versionCount, 'version'), row.pending.length)}
      confirmLabel={words.remove}
      typeToConfirm={{ word: row.name, label: words.removeType(row.name) }}
      action={remove}
      destructive
      onConfirm={() => remove.mutate()}
    />
  )
}
