import { Button } from '@mantine/core'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { Page } from '../components/page.tsx'
import { Empty, ErrorState } from '../components/states.tsx'
import { common, states } from '../strings/common.ts'

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
export function RouteError(props: ErrorComponentProps) {
  return isPartMissing(props.error) ? <PartMissing /> : <Broken {...props} />
}

/** A part of the page that is loaded when it is first needed did not come: an error of the browser or of Vite's loader. */
function isPartMissing(error: unknown): boolean {
  return error instanceof Error && /dynamically imported module|module script|preload CSS/i.test(error.message)
}

/** The service is away, or has been replaced by a newer one with other parts: all of the page is loaded again. */
function PartMissing() {
  const [isTrying, setTrying] = useState(false)
  const again = async (): Promise<void> => {
    setTrying(true)
    const isThere = await fetch('/api/health/live').then(
      ({ ok }) => ok,
      () => false,
    )
    if (isThere) location.reload()
    else setTrying(false)
  }
  return (
    <Page title={states.partMissingTitle}>
      <Empty
        title={states.unreachableTitle}
        detail={states.partMissing}
        action={
          <Button variant="default" loading={isTrying} onClick={() => void again()}>
            {common.retry}
          </Button>
        }
      />
    </Page>
  )
}

function Broken({ error, reset }: ErrorComponentProps) {
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
