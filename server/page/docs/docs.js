// The page of the routes: shows openapi.json. All text is set as text, never as markup.
"use strict";
