import { ActionIcon, Button, Modal, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { viewOf } from '../../../list-addresses.ts'
import { list } from '../../../strings/list.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { TrashIcon } from '../../icons.tsx'
import classes from './list-menu.module.css'
import { MAX_VIEWS, type SavedView, useSavedViews, withView } from './saved-views.ts'

const words = list.dialog
const MAX_NAME = 80

interface ViewsDialogProps {
  readonly list: string
  readonly onClose: () => void
}

/** Saves the current view of a list under a name, and opens or deletes saved views. */
export function ViewsDialog({ list: name, onClose }: ViewsDialogProps) {
  const { views, store } = useSavedViews(name)
  const [search] = useSearchParams()
  const change = (next: readonly SavedView[]): void => {
    if (!store(next)) notifications.show({ message: words.notStored, color: 'yellow' })
  }
  return (
    <Modal opened onClose={onClose} title={words.title}>
      <Stack gap="sm">
        <p className={classes.dim}>{words.about}</p>
        <NewView
          views={views}
          onSave={(view) => {
            change(withView(views, view))
            onClose()
          }}
        />
        <ul className={classes.views} aria-label={words.title}>
          {views.length === 0 && <li className={classes.dim}>{words.none}</li>}
          {views.map((view) => (
            <li key={view.name}>
              <Link to="." search={view.search as never} onClick={onClose}>
                {view.name}
              </Link>
              <ActionIcon
                size={28}
                aria-label={words.remove(view.name)}
                onClick={() => change(views.filter((one) => one !== view))}
              >
                <TrashIcon size={14} />
              </ActionIcon>
            </li>
          ))}
          {views.length > 0 && (
            <li>
              <Link
                to="."
                search={(search['tab'] === undefined ? {} : { tab: search['tab'] }) as never}
                onClick={onClose}
              >
                {words.all}
              </Link>
            </li>
          )}
        </ul>
      </Stack>
    </Modal>
  )
}

interface NewViewProps {
  readonly views: readonly SavedView[]
  readonly onSave: (view: SavedView) => void
}

function NewView({ views, onSave }: NewViewProps) {
  const [text, setText] = useState('')
  const [search] = useSearchParams()
  const name = text.trim()
  const isKnown = views.some((view) => view.name === name)
  const isFull = views.length >= MAX_VIEWS && !isKnown
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (name !== '' && !isFull) onSave({ name, search: viewOf(search) })
  }
  return (
    <form className={classes.form} onSubmit={submit}>
      <TextInput
        label={words.name}
        description={isKnown ? words.replaces(name) : undefined}
        error={isFull ? words.full(String(MAX_VIEWS)) : undefined}
        value={text}
        maxLength={MAX_NAME}
        onChange={(event) => setText(event.currentTarget.value)}
        autoComplete="off"
        data-autofocus
      />
      <Button type="submit" disabled={name === '' || isFull}>
        {words.submit}
      </Button>
    </form>
  )
}
