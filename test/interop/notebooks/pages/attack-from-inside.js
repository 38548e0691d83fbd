/** Runs in a page of a notebook: every way to act on the service as the visitor. Resolves with what each one saw. */
export function attackFromInside() {
  const seen = {}
  const target = '/api/auth/me'
  const limit = (work) =>
    Promise.race([work, new Promise((_, reject) => setTimeout(() => reject(new Error('nothing came')), 4000))])
  const attempt = (name, work) =>
    limit(Promise.resolve().then(work)).then(
      (result) => void (seen[name] = result),
      (error) => void (seen[name] = `blocked: ${String(error)}`),
    )
  const read = (by = window, path = target) =>
    by.fetch(new URL(path, location.href).href, { credentials: 'include' }).then((response) => {
      if (!response.ok) throw new Error(`answered with ${response.status}`)
      return response.text()
    })
  const frame = (attributes) =>
    new Promise((resolve) => {
      const made = document.createElement('iframe')
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
      made.addEventListener('load', () => resolve(made))
      document.body.append(made)
    })
  /** What a frame of the origin can do whose document brings no policy along. */
  const makeToken = (by) =>
    by
      .fetch(`${location.origin}/api/auth/tokens`, {
        method: 'POST',
        credentials: 'include',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ user: 'mallory', role: 'LeadDataEngineer', name: 'mine' }),
      })
      .then(async (response) => `${response.status} ${await response.text()}`)
  const framed = async (url) => {
    const made = await frame({ src: url })
    const inside = made.contentDocument
    if (inside === null) throw new Error('another origin')
    return makeToken(made.contentWindow)
  }
  const heard = (port) =>
    new Promise((resolve, reject) => {
      port.addEventListener('message', (event) => resolve(String(event.data)))
      port.addEventListener('error', () => reject(new Error('no worker')))
    })
  const workerCode = `fetch(new URL('${target}', ${JSON.stringify(location.origin)})).then((r) => r.text()).then(postMessage, (e) => postMessage('blocked: ' + e))`
  const blob = (code, type) => URL.createObjectURL(new Blob([code], { type }))
  const posting = `fetch('${location.origin}${target}').then((r) => r.text()).then((t) => parent.postMessage({ from: name, t }, '*'), (e) => parent.postMessage({ from: name, t: 'blocked: ' + e }, '*'))`
  const told = (name) =>
    new Promise((resolve) =>
      addEventListener('message', ({ data }) => {
        if (data.from === name) resolve(data.t)
      }),
    )
  return Promise.all([
    attempt('a fetch', () => read()),
    attempt('a fetch with an effect', () =>
      fetch('/api/auth/tokens', { method: 'POST', body: '{}' }).then((response) => response.text()),
    ),
    attempt('a fetch that hides where it is', () =>
      fetch('/api/auth/tokens', { method: 'POST', body: '{}', referrerPolicy: 'no-referrer', keepalive: true }).then(
        (response) => response.text(),
      ),
    ),
    attempt('a path with dots', () => read(window, '/notebook/ana/../../api/auth/me')),
    attempt('a redirect', () => read(window, '/notebook/ana/redirect')),
    attempt('XMLHttpRequest', () => {
      const request = new XMLHttpRequest()
      request.open('GET', target)
      request.send()
      return new Promise((resolve, reject) => {
        request.addEventListener('load', () => resolve(request.responseText))
        request.addEventListener('error', () => reject(new Error('no answer')))
      })
    }),
    attempt('a socket', () => {
      const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/api/pipeline/monitor`, ['lockhouse.v1'])
      return new Promise((resolve, reject) => {
        socket.addEventListener('open', () => resolve('opened'))
        socket.addEventListener('error', () => reject(new Error('not opened')))
      })
    }),
    attempt('events', () => {
      const source = new EventSource('/api/events')
      return new Promise((resolve, reject) => {
        source.addEventListener('open', () => resolve('opened'))
        source.addEventListener('error', () => reject(new Error('not opened')))
      })
    }),
    attempt('a beacon', async () => {
      navigator.sendBeacon('/api/auth/tokens', '{}')
      throw new Error('nothing to see')
    }),
    attempt('forms', async () => {
      for (const goal of ['_blank', 'some-frame']) {
        const form = document.createElement('form')
        Object.assign(form, { action: '/api/auth/tokens', method: 'post', target: goal, enctype: 'text/plain' })
        document.body.append(form)
        form.submit()
      }
      throw new Error('nothing to see')
    }),
    attempt('a frame of the service', async () => {
      const made = await frame({ src: target })
      return made.contentDocument?.body.textContent ?? 'blocked: another origin'
    }),
    attempt('a frame of an over-long URL', () => framed(`/${'a'.repeat(90_000)}`)),
    attempt('a frame of an over-long URL of the notebook', () => framed(`/notebook/ana/${'a'.repeat(90_000)}`)),
    attempt('a frame of a malformed URL', () => framed('/notebook/ana/%00%ff%')),
    attempt('a frame of a path that does not exist', () => framed('/nowhere')),
    attempt('a frame of nothing', async () => read((await frame({})).contentWindow)),
    attempt('a frame of text', async () => {
      const answer = told('srcdoc')
      await frame({ name: 'srcdoc', srcdoc: `<script>${posting}</script>` })
      return answer
    }),
    attempt('a frame of a blob', async () => {
      const answer = told('blob')
      await frame({ name: 'blob', src: blob(`<script>${posting}</script>`, 'text/html') })
      return answer
    }),
    attempt('a frame of a script', async () => {
      const answer = told('script')
      await frame({ name: 'script', src: `javascript:${posting}` })
      return answer
    }),
    attempt('a worker', () => heard(new Worker('/notebook/ana/worker.js'))),
    attempt('a worker of a blob', () => heard(new Worker(blob(workerCode, 'text/javascript')))),
    attempt('a service worker', async () => {
      await navigator.serviceWorker.register('/notebook/ana/worker.js')
      return 'registered'
    }),
  ]).then(() => seen)
}
