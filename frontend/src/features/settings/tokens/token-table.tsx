import { Button } from '@mantine/core'
import { useMemo, useState } from 'react'
import { useMe } from '../../../api/session.ts'
import type { Token } from '../../../api/types.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import type { ListOptions } from '../../../components/table/list/list-options.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { StatusDot, type StatusTone } from '../../../components/status/status-dot.tsx'
import { tokenStrings as strings } from '../../../strings/settings.ts'
import { roleName } from '../../../strings/everywhere/shell.ts'
import { revokeToken } from '../api.ts'
import { tokenState, type TokenState } from './token-state.ts'

const TONES: Readonly<Record<TokenState, StatusTone>> = { active: 'ok', expired: 'idle', revoked: 'idle' }

interface TokenTableProps {
  readonly tokens: readonly Token[]
  readonly now: Date
  readonly readAll: ListOptions<Token>['readAll']
}

/** Tokens, each with a revoke button. */
export function TokenTable({ tokens, now, readAll }: TokenTableProps) {
  const [chosen, choose] = useState<Token>()
  const columns = useMemo(() => columnsAt(now, choose), [now])
  return (
    <>
      <DataTable
        label={strings.title}
        list={{ name: 'tokens', readAll }}
        rows={tokens}
        rowKey={({ id }) => id}
        columns={columns}
      />
      <RevokeDialog token={chosen} onClose={() => choose(undefined)} />
    </>
  )
}

function columnsAt(now: Date, onRevoke: (token: Token) => void): readonly ColumnSpec<Token>[] {
  const { columns } = strings
  return [
    {
      id: 'name',
      header: columns.name,
      value: ({ name }) => name,
      width: 'minmax(88px, 1.5fr)',
      cell: ({ name }) => <span title={name}>{name}</span>,
    },
    {
      id: 'user',
      header: columns.user,
      value: ({ user }) => user,
      width: 'minmax(72px, 1fr)',
      cell: ({ user }) => <span title={user}>{user}</span>,
    },
    {
      id: 'role',
      header: columns.role,
      value: ({ role }) => role,
      width: 'minmax(120px, 1fr)',
      cell: ({ role }) => <span>{roleName(role)}</span>,
      belowOnPhone: true,
    },
    {
      id: 'state',
      header: columns.state,
      value: (token) => tokenState(token, now),
      width: '92px',
      cell: (token) => {
        const state = tokenState(token, now)
        return <StatusDot tone={TONES[state]} label={strings.states[state]} />
      },
    },
    {
      id: 'created',
      header: columns.created,
      value: ({ created_at: at }) => at,
      width: '112px',
      cell: ({ created_at: at }) => <RelativeTime at={at} />,
      hideOnPhone: true,
    },
    {
      id: 'expires',
      header: columns.expires,
      value: ({ expires_at: at }) => at,
      width: '112px',
      cell: ({ expires_at: at }) => (at === null ? strings.never : <RelativeTime at={at} />),
      belowOnPhone: true,
    },
    revokeColumn(now, onRevoke),
  ]
}

function revokeColumn(now: Date, onRevoke: (token: Token) => void): ColumnSpec<Token> {
  return {
    id: 'actions',
    header: strings.columns.actions,
    value: null,
    width: '92px',
    cell: (token) =>
      tokenState(token, now) === 'active' ? <RevokeButton token={token} onRevoke={onRevoke} /> : undefined,
  }
}

interface RevokeButtonProps {
  readonly token: Token
  readonly onRevoke: (token: Token) => void
}

function RevokeButton({ token, onRevoke }: RevokeButtonProps) {
  return (
    <Button
      variant="default"
      size="compact-xs"
      aria-label={strings.revoke.label(token.name, token.user)}
      onClick={() => onRevoke(token)}
    >
      {strings.revoke.action}
    </Button>
  )
}

interface RevokeDialogProps {
  readonly token: Token | undefined
  readonly onClose: () => void
}

function RevokeDialog({ token, onClose }: RevokeDialogProps) {
  const me = useMe()
  const revoke = useAction({
    send: (id: string) => revokeToken(id),
    changes: ['tokens'],
    said: strings.revoke.done,
    onDone: onClose,
  })
  const own = token?.user === me?.user ? [strings.revoke.own] : []
  return (
    <ConfirmDialog
      opened={token !== undefined}
      onClose={onClose}
      title={token ? strings.revoke.title(token.name, token.user) : ''}
      consequences={[...strings.revoke.consequences, ...own]}
      confirmLabel={strings.revoke.action}
      destructive
      action={revoke}
      onConfirm={() => {
        if (token) revoke.mutate(token.id)
      }}
    />
  )
}
