import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ApiError } from '../api/api-error.ts'
import { Page } from '../components/page.tsx'
import { ErrorState } from '../components/states.tsx'
import { states } from '../strings/common.ts'

/** What stands at an address that leads nowhere. */
export function NotFound() {
  return (
    <Page title={states.notFoundTitle}>
      <p>
        {states.notFound} <Link to="/tables">{states.backToTables}</Link>
      </p>
    </Page>
  )
}

/** What stands where a page could not be loaded or broke. */
export function RouteError({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  useEffect(() => {
    if (!(error instanceof ApiError)) console.error(error)
  }, [error])
  const again = (): void => {
    reset()
    void router.invalidate()
  }
  const known = error instanceof ApiError
  return (
    <Page title={known ? states.errorTitle : states.renderTitle}>
      {known ? <ErrorState error={error} onRetry={again} /> : <ErrorState error={states.render} onRetry={again} />}
    </Page>
  )
}
