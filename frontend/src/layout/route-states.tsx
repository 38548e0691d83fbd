import { Button } from '@mantine/core'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { Page } from '../components/page/page.tsx'
import { Empty, ErrorState } from '../components/status/states.tsx'
import { common, states } from '../strings/everywhere/common.ts'
import { serviceAddress } from '../base-path.ts'

/** Shown for URLs that do not exist. */
export function NotFound() {
  return (
    <Page title={states.notFoundTitle}>
      <p>
        {states.notFound} <Link to="/tables">{states.backToTables}</Link>
      </p>
    </Page>
  )
}

/** Shown when a page fails to load or render. */
export function RouteError(props: ErrorComponentProps) {
  return isPartMissing(props.error) ? <PartMissing /> : <Broken {...props} />
}

/** A lazily loaded part of the page failed to load: an error of the browser or of Vite's loader. */
function isPartMissing(error: unknown): boolean {
  return error instanceof Error && /dynamically imported module|module script|preload CSS/i.test(error.message)
}

/** The service is down, or was replaced by a newer one with other files: the whole page is reloaded. */
function PartMissing() {
  const [isTrying, setTrying] = useState(false)
  const again = async (): Promise<void> => {
    setTrying(true)
    const isThere = await fetch(serviceAddress('/api/health/live')).then(
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
