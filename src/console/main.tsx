// The entry of the console in the browser. `data-base` of the page is the path of the tenant, without `/` at its end.
import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme } from './theme.tsx';

applyTheme();
render(<App />, document.getElementById('console') ?? document.body);
