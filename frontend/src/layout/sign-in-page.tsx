import { Button, Divider, PasswordInput, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { providerAddress, signIn, signInMethodsQuery } from '../api/session.ts'
import { useAction } from '../api/actions/use-action.ts'
import { LogoMark } from '../components/logo.tsx'
import { Notice } from '../components/status/notice.tsx'
import { errorText } from '../components/status/states.tsx'
import { common } from '../strings/everywhere/common.ts'
import { signIn as words } from '../strings/everywhere/shell.ts'
import { innerPath } from './inner-path.ts'
import classes from './sign-in-page.module.css'
import { serviceAddress } from '../base-path.ts'

const page = getRouteApi('/sign-in')

/** Signs in with a token and opens the requested page. */
export function SignInPage() {
  const { next, why } = page.useSearch()
  const router = useRouter()
  const hasProvider = useQuery(signInMethodsQuery).data?.provider === true
  const [token, setToken] = useState('')
  const [missing, setMissing] = useState(false)
  const enter = useAction({
    send: signIn,
    onDone: () => router.history.push(serviceAddress(innerPath(next))),
  })
  useDocumentTitle(`${words.title} · ${common.product}`)
  return (
    <div className={classes.page}>
      <form
        className={classes.card}
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          setMissing(token.trim() === '')
          if (token.trim() !== '') enter.mutate(token)
        }}
      >
        <div className={classes.head}>
          <LogoMark size={32} />
          <Title order={1}>{common.product}</Title>
        </div>
        <p className={classes.intro}>{hasProvider ? words.introProvider : words.intro}</p>
        {why !== undefined && !enter.isError && <Notice tone="info">{words.why[why]}</Notice>}
        {hasProvider && (
          <>
            <Button component="a" href={providerAddress(innerPath(next))} size="sm" data-autofocus>
              {words.provider}
            </Button>
            <Divider label={words.or} />
          </>
        )}
        <PasswordInput
          size="sm"
          label={words.token}
          description={words.tokenHint}
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
          error={missing ? words.empty : enter.isError && refusal(enter.error)}
          autoComplete="current-password"
          spellCheck={false}
          data-autofocus={hasProvider ? undefined : true}
        />
        <Button type="submit" size="sm" variant={hasProvider ? 'default' : 'filled'} loading={enter.isPending}>
          {words.submit}
        </Button>
      </form>
    </div>
  )
}

function refusal(error: unknown): string {
  if (error instanceof ApiError && error.status === 401) return words.refused
  if (error instanceof ApiError && error.status === 429) return words.throttled
  return errorText(error)
}
