import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../../../api/query-client.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import type { Pipeline } from '../../../api/types.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { Notice } from '../../../components/status/notice.tsx'
import { catalogStrings } from '../../../strings/settings.ts'
import { catalogUsersQuery, removeCatalog, removedCatalogQuery } from '../api.ts'
import classes from '../settings.module.css'

const strings = catalogStrings.removal

/** The button that removes a catalog beside the default one, and its confirmation. */
export function RemoveCatalog({ name }: { readonly name: string }) {
  const [isOpen, setOpen] = useState(false)
  const [opening, setOpening] = useState(0)
  const { data: users = [] } = useQuery({ ...catalogUsersQuery(name), enabled: isOpen, staleTime: 0 })
  const { data: read, error } = useQuery({
    ...removedCatalogQuery(name, opening),
    // once: a change by someone else reads all again, and its tag would hide that change from the removal
    enabled: ({ state }) => isOpen && state.data === undefined,
  })
  const remove = useAction({
    send: () => removeCatalog(name, read?.tag ?? null),
    changes: ['pipelines', 'config'], // a refusal is about pipelines that started, or settings that changed since
    said: strings.done,
    onDone: () => {
      setOpen(false)
      void queryClient.invalidateQueries()
    },
  })
  const open = (): void => {
    setOpening(opening + 1)
    setOpen(true)
  }
  return (
    <>
      <Button variant="default" aria-label={strings.label(name)} onClick={open}>
        {strings.action}
      </Button>
      <ConfirmDialog
        opened={isOpen}
        onClose={() => setOpen(false)}
        title={strings.title(name)}
        consequences={strings.consequences(name)}
        confirmLabel={strings.confirm}
        confirmDisabled={users.length > 0 || read === undefined}
        error={error}
        destructive
        action={remove}
        onConfirm={() => remove.mutate()}
      >
        {users.length > 0 && <Users users={users} />}
      </ConfirmDialog>
    </>
  )
}

function Users({ users }: { readonly users: readonly Pipeline[] }) {
  return (
    <Notice tone="warn" title={strings.users}>
      <ul className={classes.fieldErrors} aria-label={strings.usersLabel}>
        {users.map(({ id }) => (
          <li key={id}>
            <Link to="/pipelines/$id" params={{ id }}>
              {id}
            </Link>
          </li>
        ))}
      </ul>
    </Notice>
  )
}
