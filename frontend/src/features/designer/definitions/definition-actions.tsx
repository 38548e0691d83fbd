import { ActionIcon, Modal, Stack, Text, Tooltip } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useNavigate } from '@tanstack/react-router'
import type { Environment } from '../../../../../src/domain/environments.ts'
import type { BoardRow } from '../../../api/types.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { EditIcon, TrashIcon } from '../../../components/icons.tsx'
import { formatPlural } from '../../../strings/everywhere/units.ts'
import { common } from '../../../strings/everywhere/common.ts'
import { definitionPageStrings as words, definitionStrings } from '../../../strings/pipelines/designer.ts'
import { inWords } from '../../../strings/environments.ts'
import { useDialog } from '../../../use-dialog.ts'
import { RenamedMeanwhile, useDeleteDefinition, useRename } from '../api.ts'
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
      closeButtonProps={{ 'aria-label': common.close }}
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
  const rename = useRename(row.id)
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
      busy={rename.isPending}
      error={error}
      onSubmit={(given, initial) => {
        const seen = error instanceof RenamedMeanwhile ? error.now : initial
        rename.mutate(
          { seen, given },
          {
            onSuccess: () => {
              notifications.show({ message: words.saved })
              close()
            },
          },
        )
      }}
    />
  )
}

function RemoveDialog({ row, versionCount, opened, onClose }: DialogProps & { readonly versionCount: number }) {
  const remove = useDeleteDefinition(row.id)
  const navigate = useNavigate()
  const confirm = (): void =>
    remove.mutate(undefined, {
      onSuccess: () => {
        notifications.show({ message: words.removed })
        void navigate({ to: '/definitions', ignoreBlocker: true })
      },
    })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={words.removeTitle(row.name)}
      consequences={words.removeConsequences(formatPlural(versionCount, 'version'), row.pending.length)}
      confirmLabel={words.remove}
      typeToConfirm={{ word: row.name, label: words.removeType(row.name) }}
      busy={remove.isPending}
      error={remove.error}
      destructive
      onConfirm={confirm}
    />
  )
}
